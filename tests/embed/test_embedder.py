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
    ElmoConfig,
    Embedder,
    LanguageModel,
    embed_corpus,
    read_embeddings,
)
from elmo_keras.formats.model_directory import save_model
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


def test_arrays_come_in_the_order_of_the_sentences(all_layers, elmo):
    tokens = [s.split() if isinstance(s, str) else s for s in SENTENCES]
    expected = [elmo.all_layers([sentence]).numpy()[0] for sentence in tokens]
    assert_all_close(all_layers(SENTENCES), expected)


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


def test_normalized_vectors_have_length_1_or_0(means):
    lengths = np.linalg.norm(means.encode(SENTENCES, normalize=True), axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 0, 1, 1], atol=1e-6)


def test_the_default_is_the_mix_of_the_model_or_else_the_average(elmo, all_layers):
    layers = all_layers(SENTENCES[:2])
    assert_all_close(Embedder(elmo)(SENTENCES[:2]), [h.mean(axis=0) for h in layers])
    mixed = Embedder(elmo, mix=[0.0, 1e9, 0.0], gamma=2.0)(SENTENCES[:2])
    assert_all_close(mixed, [2 * h[1] for h in layers])


def test_its_representation_names_the_model_and_the_choice(means, model_directory):
    path = str(model_directory)
    assert repr(means) == f"Embedder({path!r}, pooling='mean', tokens_at_once=10)"


def test_one_sentence_and_none(means, all_layers):
    np.testing.assert_array_equal(means("One"), means(["One"])[0])
    assert means([]).shape == (0, means.dim)
    assert all_layers([]) == []


def test_a_stream_has_bounded_memory(means):
    read = itertools.count()
    stream = means.stream(f"word {next(read)}" for _ in itertools.count())
    np.testing.assert_allclose(next(stream), means("word 0"), atol=1e-6)
    stream.close()
    assert next(read) < 100


def test_text_is_split_as_that_of_the_model(elmo):
    raw, spaces = ["It's (really) late!"], [["It's", "(really)", "late!"]]
    words = [["It", "'s", "(", "really", ")", "late", "!"]]
    config = dataclasses.replace(elmo.config, tokenizer="words")
    for model, tokens in (elmo, spaces), (elmo_layer(config), words):
        embedder = Embedder(model)
        np.testing.assert_array_equal(embedder(raw)[0], embedder(tokens)[0])
        assert ElmoConfig.from_options(model.config.to_options()) == model.config
    chosen = Embedder(elmo, tokenizer="words")(raw)[0]
    np.testing.assert_array_equal(chosen, Embedder(elmo)(words)[0])


def test_a_tokenizer_splits_text(model_directory, means):
    letters = Embedder(model_directory, pooling="mean", tokenizer=list)
    np.testing.assert_allclose(letters("abc"), means([["a", "b", "c"]])[0], atol=1e-6)


def test_one_sentence_in_a_stream_is_one_array(means):
    [array] = means.stream("a b")
    np.testing.assert_array_equal(array, means("a b"))
    with pytest.raises(TypeError, match="Sentences should be .* of type dict"):
        means({"text": "a b"})


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


def test_a_changed_model_is_noticed(model_directory, tmp_path):
    elmo = Elmo.from_pretrained(model_directory)
    save_model(tmp_path, elmo.bilm)
    pickled = pickle.dumps(Embedder(tmp_path))
    elmo.bilm.lstm.forward.lstms[0].bias.assign_add([1.0] * 4 * elmo.config.units)
    save_model(tmp_path, elmo.bilm)
    with pytest.raises(ValueError, match="has changed since the embedder was pickled"):
        pickle.loads(pickled)(["a"])


def test_weights_are_not_hashed_unless_needed(elmo, monkeypatch):
    monkeypatch.setattr(BidirectionalLanguageModel, "digest", None)
    embedder = Embedder(elmo)
    assert len(embedder(["a"])) == 1 and {embedder, Embedder(elmo)} == {embedder}


@pytest.mark.parametrize(
    ("gamma", "dtype", "message"),
    [(3e38, "float32", "Give lower ones."), (1e5, "float16", "or float32.")],
)
def test_vectors_that_overflow_are_refused(elmo, gamma, dtype, message):
    embedder = Embedder(elmo, mix=[0, 0, 9], gamma=gamma, dtype=dtype)
    text = "a long enough sentence to have some numbers above one".split()
    with pytest.raises(FloatingPointError, match=f"too large for {dtype}.*{message}"):
        embedder([text * 20])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_told_to_be_spawned(means):
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


def test_an_embedder_of_a_layer_is_not_pickled(elmo):
    with pytest.raises(TypeError, match="can't be pickled. Make it from the path"):
        pickle.dumps(Embedder(elmo))


def test_a_token_with_a_space_is_warned_of(means):
    with pytest.warns(UserWarning, match="A token holds a space") as warned:
        means([["two tokens"], ["three more tokens"]])
    assert len({str(warning.message) for warning in warned}) == 1


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        ([["a"], 3], TypeError, r"Sentence 1 should be a str or a list .* Received: 3"),
        ([["a", ""]], ValueError, "The tokens of sentence 0 .* Token 1 is ''"),
    ],
)
def test_bad_sentences(means, sentences, error, message):
    with pytest.raises(error, match=message):
        means(sentences)


@pytest.mark.parametrize("model", [3, None, "", ("options.json", "w.hdf5"), object()])
def test_what_names_no_model_is_refused(model):
    for read in Embedder, Elmo.from_pretrained, LanguageModel.from_pretrained:
        with pytest.raises(TypeError, match="should be a path, a name or an address"):
            read(model)
    with pytest.raises(TypeError, match="should be an ElmoConfig, such as"):
        Elmo(model)


def test_an_unknown_arithmetic_is_refused(model_directory):
    with pytest.raises(ValueError, match="`arithmetic` should be one of"):
        Embedder(model_directory, arithmetic="x")


def test_a_tokenizer_that_makes_no_tokens_is_named(model_directory):
    with pytest.raises(ValueError, match="`tokenizer` should be one of"):
        Embedder(model_directory, tokenizer=5)
    embedder = Embedder(model_directory, tokenizer=lambda text: None)
    with pytest.raises(TypeError, match="`tokenizer` should make tokens"):
        embedder("Ann")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokens_at_once": 0}, "`tokens_at_once` should be an integer from 1 to"),
        ({"threads": "two"}, "`threads` should be an integer from 1 to"),
        ({"arithmetic": "bfloat16"}, "belong to a model that is read"),
        ({"pooling": "sum"}, "`pooling` should be one of"),
        ({"layers": "last"}, "`layers` should be one of"),
        ({"layers": 1.0}, "`layers` should be one of"),
        ({"mix": [1, 2]}, "The mix should have 3 weights"),
        (
            {"layers": "top", "mix": [1, 2, 3]},
            "weights and the factor of `layers='mix'",
        ),
        ({"layers": "all", "gamma": 2.0}, "weights and the factor of `layers='mix'"),
        ({"dtype": "int8"}, "`dtype` should be one of"),
    ],
)
def test_bad_settings(elmo, arguments, message):
    with pytest.raises(ValueError, match=message):
        Embedder(elmo, **arguments)
