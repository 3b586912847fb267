"""The embedder for programs: NumPy arrays of any sentences."""

import dataclasses
import itertools
import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from elmo_keras import (
    BidirectionalLanguageModel,
    Elmo,
    Embedder,
    LanguageModel,
    embed_corpus,
    read_embeddings,
)
from elmo_keras.embed.engines import backend
from elmo_keras.formats.model_directory import save_model
from elmo_keras.formats.options import to_config, to_options
from tests.support.exported import elmo_layer
from tests.support.models import assert_all_close

pytestmark = pytest.mark.filterwarnings("ignore:A token holds")
SENTENCES = [
    "Rivers bend .",
    ["two tokens", "한국어"],
    "",
    "The bank of the river , again and again",
    ["One"],
]


@pytest.fixture(scope="module")
def all_layers(model_directory):
    return Embedder(model_directory, layers="all", tokens_at_once=10)


@pytest.fixture(scope="module")
def means(model_directory):
    return Embedder(model_directory, pooling="mean", tokens_at_once=10)


@pytest.mark.usefixtures("eagerly")  # the layer, not the embedder
def test_arrays_come_in_the_order_of_the_sentences(all_layers, elmo):
    tokens = [s.split() if isinstance(s, str) else s for s in SENTENCES]
    expected = [elmo.all_layers([sentence]).numpy()[0] for sentence in tokens]
    assert_all_close(all_layers(SENTENCES), expected)


@pytest.mark.usefixtures("eagerly")
def test_boundaries_are_kept_as_the_layer_keeps_them(model_directory, tmp_path):
    layer = Elmo.from_pretrained(model_directory, keep_sentence_boundaries=True)
    options = {"keep_sentence_boundaries": True, "lower_case": True}
    embedder = Embedder(layer, tokens_at_once=10, **options)
    lower = [s.lower().split() if isinstance(s, str) else s for s in SENTENCES]
    lower[-1] = ["one"]
    expected = [layer([sentence]).numpy()[0] for sentence in lower]
    assert_all_close(embedder(SENTENCES), expected)
    assert embedder.metadata["keep_sentence_boundaries"] is True
    (tmp_path / "text").write_text("Rivers bend .\n\nOne\n")
    for name in "v.hdf5", "v.parquet":
        embed_corpus(embedder, tmp_path / "text", tmp_path / name)
        assert_all_close(read_embeddings(tmp_path / name), expected[::2])


def test_bfloat16_is_near_float32(model_directory, all_layers):
    coarse = dataclasses.replace(all_layers, arithmetic="bfloat16")
    for a, b in zip(coarse(SENTENCES), all_layers(SENTENCES), strict=True):
        assert a.dtype == np.float32
        assert 0 < np.abs(a - b).max(initial=1e-9) < 0.2


def test_one_sentence_and_none(means, all_layers):
    np.testing.assert_array_equal(means("One"), means(["One"])[0])
    np.testing.assert_array_equal(next(means.stream("a b")), means("a b"))
    assert means([]).shape == (0, means.dim)
    assert all_layers([]) == []
    lengths = np.linalg.norm(means.encode(SENTENCES, normalize=True), axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 0, 1, 1], atol=1e-6)


def test_a_stream_has_bounded_memory(means):
    read = itertools.count()
    stream = means.stream(f"word {next(read)}" for _ in itertools.count())
    np.testing.assert_allclose(next(stream), means("word 0"), atol=1e-6)
    stream.close()
    assert next(read) < 100


def test_text_is_split_as_that_of_the_model(elmo):
    raw, spaces = "It's (really) late!", [["It's", "(really)", "late!"]]
    words = [["It", "'s", "(", "really", ")", "late", "!"]]
    config = dataclasses.replace(elmo.config, tokenizer="words")
    for model, chosen, tokens in (
        (elmo, None, spaces),
        (elmo_layer(config), None, words),
        (elmo, "words", words),
        (elmo, list, [[*raw]]),
    ):
        assert [*Embedder(model, tokenizer=chosen, lazy=True).split(raw)] == tokens
    assert to_config(to_options(config)) == config
    with pytest.raises(TypeError, match="`tokenizer` should make tokens"):
        Embedder(elmo, tokenizer=lambda text: None, lazy=True)("Ann")


def test_threads_share_an_embedder(means):
    texts = [[f"{i} {j} word" for j in range(20)] for i in range(4)]
    expected = [means(text) for text in texts]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            assert_all_close(threads.map(means, texts), expected)


def test_a_pickled_embedder_reads_its_model_at_the_first_use(means, model_directory):
    copy = pickle.loads(pickle.dumps(means))
    assert len(pickle.dumps(means)) < 2000  # no weights
    np.testing.assert_allclose(copy(SENTENCES), means(SENTENCES), atol=1e-6)
    assert copy == means and hash(copy) == hash(means)
    lazy = Embedder(model_directory, pooling="mean", tokens_at_once=10, lazy=True)
    assert lazy == means != Embedder(model_directory, pooling="max")
    assert pickle.loads(pickle.dumps(lazy)).fingerprint == means.fingerprint


def test_litert_computes_unless_tensorflow_is_asked_for(
    model_directory, monkeypatch, capsys
):
    def is_lite(**options):
        return Embedder(model_directory, lazy=True, **options).is_lite

    monkeypatch.setattr(backend, "_GPU", ())
    assert is_lite() and is_lite(arithmetic="float32") and is_lite(arithmetic="int8")
    assert not is_lite(arithmetic="bfloat16") and not is_lite(backend="tensorflow")
    pickled = pickle.dumps(Embedder(model_directory, tokens_at_once=10))
    monkeypatch.setattr(backend, "_GPU", (model_directory,))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert not is_lite() and is_lite(backend="litert") and is_lite(arithmetic="int8")
    assert pickle.loads(pickled).is_lite  # the backend before it was pickled
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert is_lite()

    def missing():
        raise ImportError("ai-edge-litert is missing")

    monkeypatch.setattr(backend, "library", missing)
    backend._has_litert.cache_clear()
    assert not is_lite() and not is_lite() and is_lite(arithmetic="int8")
    backend._has_litert.cache_clear()
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("TensorFlow computes, which starts seconds later")
    assert line.endswith("ai-edge-litert is missing")


def test_what_changes_vectors_changes_the_fingerprint(means, model_directory):
    changes = {"lower_case": True, "keep_sentence_boundaries": True, "layers": "top"}
    changes |= {"dtype": "float16", "pooling": "max", "gamma": 2.0}
    for name, value in changes.items():
        others = [Embedder(model_directory), Embedder(model_directory, **{name: value})]
        assert others[0].fingerprint != others[1].fingerprint, name


def test_a_changed_model_is_noticed(model_directory, tmp_path):
    elmo = Elmo.from_pretrained(model_directory)
    with pytest.raises(TypeError, match="can't be pickled. Make it from the path"):
        pickle.dumps(Embedder(elmo))
    save_model(tmp_path, elmo.bilm)
    pickled = pickle.dumps(Embedder(tmp_path))
    elmo.bilm.lstm.forward.lstms[0].bias.assign_add([1.0] * 4 * elmo.config.units)
    save_model(tmp_path, elmo.bilm)
    with pytest.raises(ValueError, match="has changed since the embedder was pickled"):
        pickle.loads(pickled)(["a"])


def test_weights_are_not_hashed_unless_needed(elmo, monkeypatch):
    monkeypatch.setattr(BidirectionalLanguageModel, "digest", None)
    embedder = Embedder(elmo, lazy=True)
    assert {embedder, Embedder(elmo, lazy=True)} == {embedder}


@pytest.mark.parametrize(
    ("gamma", "dtype", "message"),
    [(3e38, "float32", "Give lower ones."), (1e5, "float16", "or float32.")],
)
def test_vectors_that_overflow_are_refused(quick, gamma, dtype, message):
    embedder = Embedder(quick, mix=[0, 0, 9], gamma=gamma, dtype=dtype)
    text = "a long enough sentence to have some numbers above one".split()
    with pytest.raises(FloatingPointError, match=f"too large for {dtype}.*{message}"):
        embedder([text * 20])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_told_to_be_spawned(elmo):
    means = Embedder(elmo, pooling="mean", tokens_at_once=10)
    means(["a"])
    child = os.fork()
    if not child:
        signal.alarm(20)  # without a check it would wait for ever
        try:
            means(["a", "new words"])
        except RuntimeError as error:
            os._exit(0 if "Start processes by `spawn`" in str(error) else 1)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("model", [None, "", ("options.json", "w.hdf5")])
def test_what_names_no_model_is_refused(model):
    for read in Embedder, Elmo.from_pretrained, LanguageModel.from_pretrained:
        with pytest.raises(TypeError, match="should be a path, a name or an address"):
            read(model)
    with pytest.raises(TypeError, match="should be an ElmoConfig, such as"):
        Elmo(model)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokens_at_once": 0}, "`tokens_at_once` should be an integer from 1 to"),
        ({"arithmetic": "bfloat16"}, "belong to a model that is read"),
        ({"backend": "litert"}, "TensorFlow `Elmo` layers and bfloat16. Received"),
        ({"backend": "numpy"}, "`backend` should be one of"),
        ({"tokenizer": 5}, "`tokenizer` should be one of"),
        ({"pooling": "sum"}, "`pooling` should be one of"),
        ({"layers": 1.0}, "`layers` should be one of"),
        ({"mix": [1, 2]}, "The mix should have 3 weights"),
        ({"layers": "all", "gamma": 2.0}, "weights and the factor of `layers='mix'"),
        ({"dtype": "int8"}, "`dtype` should be one of"),
    ],
)
def test_bad_settings(elmo, arguments, message):
    with pytest.raises(ValueError, match=message):
        Embedder(elmo, **arguments)
