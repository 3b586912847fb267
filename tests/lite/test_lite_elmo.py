"""The biLM in LiteRT against the layers that it was converted from."""

import dataclasses
import json
import sys

import h5py
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, ElmoConfig, Embedder
from elmo_keras.formats.model_directory import find_model
from elmo_keras.text.characters import characters_of_words
from elmo_keras.text.word_ids import WordIds, boundary_tokens
from tests.support.dictionaries import dictionary_config
from tests.support.models import convert_layer, randomize

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")

from elmo_keras.lite import runtime
from elmo_keras.lite.convert import convert
from elmo_keras.lite.engine import LiteElmo
from elmo_keras.lite.layers import LiteDense
from tests.support.sizes import CONFIG

TEST = CONFIG
DICTIONARY = dictionary_config()
MINIMAL = {"cell_clip": None, "proj_clip": None, "n_layers": 1, "n_highway": 0}
MAXIMAL = {"cell_clip": 0.3, "proj_clip": 0.2, "n_layers": 3, "n_highway": 3}
MAXIMAL |= {"use_skip_connections": False}
CONFIGS = {  # together they have each value of each option, and most pairs of them
    "as published": TEST,
    "one layer, no projections, no clips, no highway, tanh": dataclasses.replace(
        TEST,
        **MINIMAL,
        activation="tanh",
        projection_dim=TEST.n_filters,
        units=TEST.n_filters,
    ),
    "three layers, no skips, small clips, three highways, cut, NFC, four sizes of words": (
        dataclasses.replace(
            TEST,
            **MAXIMAL,
            cut_at="character",
            unicode_normalization="NFC",
            max_characters_per_token=30,
        )
    ),
    "dictionary": DICTIONARY,
    "dictionary of words": dataclasses.replace(
        DICTIONARY,
        dictionary=dataclasses.replace(DICTIONARY.dictionary, characters=""),
        filters=(),
        n_highway=0,
        char_embedding_dim=0,
    ),
}
ROWS = [*CONFIGS][:-1]
ROWS.append(pytest.param("dictionary of words", marks=pytest.mark.journey))
WORDS = (
    "a the </S> <S> <bos> <eos> word é e\u0301 한국어 🙂🙂 a🙂b abcdefgh abcdefghijklmnop "
    "naïve 가가가가가가가가가가가가가가가 1234567890123456789012345678901 w"
).split()
LENGTHS = np.array([3, 1, 17, 5, 0, 9, 2, 2])


def test_matrices_with_outliers_stay_exact(tmp_path, monkeypatch):
    elmo = Elmo(ElmoConfig(64, 32, ((1, 16), (2, 16), (3, 32)), char_embedding_dim=8))
    elmo.build()
    randomize(elmo, scale=0.2)
    kernels = [w for w in elmo.bilm.weights if "kernel" in w.name]
    rng = np.random.default_rng(2)
    for kernel in kernels:
        outliers = rng.random(kernel.shape) < 5e-3
        kernel.assign(np.where(outliers, 30.0 * kernel.numpy(), kernel))
    path = tmp_path / "m.tflite"
    monkeypatch.setattr("elmo_keras.lite.convert.GOOD_COSINE", 1.0)
    with pytest.warns(UserWarning, match="int8 loses accuracy: mean cosines .* 0.9"):
        cosines = convert_layer(elmo, path)
    assert min(cosines) > 0.995
    assert LiteElmo.read(path).metadata["cosines"] == cosines
    with pytest.raises(ValueError, match="at least 0.999999 in each layer"):
        convert_layer(elmo, tmp_path / "refused.tflite", min_cosine=0.999999)
    assert [*tmp_path.iterdir()] == [path]


def sentences_of(config, lengths):
    """Flat words with boundaries, and their numbers of tokens."""
    begin, end = (token.encode() for token in boundary_tokens(config))
    rng = np.random.default_rng(1)
    rows = ([w.encode() for w in rng.choice(WORDS, length)] for length in lengths)
    return [word for row in rows for word in (begin, *row, end)]


@pytest.mark.parametrize("arithmetic", ["int8", "float32"])
def test_weights_that_are_not_finite_are_not_converted(tmp_path, arithmetic):
    elmo = Elmo(TEST)
    elmo.build()
    names = {
        "RNN_1/.*/LSTMCell/W_0": elmo.bilm.lstm.backward.lstms[0].kernel,
        "mix": elmo.mixes[0].gamma,
    }
    for name, weight in names.items():
        before = weight.numpy()
        weight.assign(np.full_like(before, np.inf))
        with pytest.raises(ValueError, match=f"{name}` should hold finite"):
            convert_layer(elmo, tmp_path / "m.tflite", arithmetic)
        weight.assign(before)


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits")
def test_a_limit_on_the_size_read_layers_is_said_before_litert_ends_the_process():
    import resource

    lite = LiteDense(np.ones((40, 40), np.float32), np.ones(40, np.float32))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
    try:
        with pytest.raises(OSError, match="at most 3,000 bytes .*, and LiteRT needs"):
            LiteDense(np.ones((40, 40), np.float32), np.ones(40, np.float32))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    np.testing.assert_allclose(lite(np.ones((1, 40), np.float32)), 41, rtol=0.02)


@pytest.fixture(scope="module", params=ROWS)
def elmo(request):
    config = CONFIGS[request.param]
    elmo = Elmo(config)
    elmo.build()
    randomize(elmo)
    return elmo


@pytest.fixture
def read_layer(elmo, tmp_path):
    """Reads the layer from a file of an arithmetic."""

    def read(arithmetic):
        convert_layer(elmo, tmp_path / "m.tflite", arithmetic)
        return LiteElmo.read(tmp_path / "m.tflite")

    return read


def test_ids_of_words_are_those_of_the_layers(elmo):
    words = [word.encode() for word in WORDS] + [b"", b"\xff\xc3a", b"\xf0\x9f\x99"]
    expected = characters_of_words(tf.constant(words), elmo.config)
    actual, _ = WordIds(elmo.config)(words)
    np.testing.assert_array_equal(actual, expected)


def test_float32_gives_the_vectors_of_the_layers(elmo, read_layer):
    lite = read_layer("float32")
    words = sentences_of(elmo.config, LENGTHS)
    x = elmo.bilm.token_vectors(tf.constant(words)).numpy()
    np.testing.assert_allclose(lite.word_vectors(words), x, rtol=1e-5, atol=1e-5)
    expected = elmo.bilm.layers_of_sentences(tf.constant(x), LENGTHS.astype("int32"))
    for actual, layer in zip(lite.layers_of_vectors(x, LENGTHS), expected, strict=True):
        np.testing.assert_allclose(actual, layer, rtol=1e-5, atol=1e-5)


def test_int8_vectors_point_where_those_of_the_layers_do(elmo, read_layer):
    lite = read_layer("int8")
    words = sentences_of(elmo.config, LENGTHS)
    x = elmo.bilm.token_vectors(tf.constant(words))
    expected = elmo.bilm.layers_of_sentences(x, LENGTHS.astype("int32"))
    actual = lite.layers_of_vectors(lite.word_vectors(words), LENGTHS)
    for a, b in zip(actual, expected, strict=True):
        b = b.numpy()
        cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        assert cosines.mean() > 0.99  # for 5 numbers; larger vectors are nearer


@pytest.mark.parametrize("arithmetic", ["int8", "float32"])
def test_sentences_that_amplify_rounding_have_the_same_bits_in_any_batch(arithmetic):
    embedder = Embedder("en", layers="all", arithmetic=arithmetic)
    sentences = [[str(i) for i in range(200)], ["no"] * 100, ["</S>"]]
    others = [["word"] * n for n in range(1, 32)]
    together = embedder([*others, *sentences, *others])[31:34]
    for sentence, vectors in zip(sentences, together, strict=True):
        np.testing.assert_array_equal(embedder([sentence])[0], vectors)


def test_the_published_vectors_are_reproduced(data, capsys):
    def file(name):
        return data(f"fixtures/bilm-tf/{name}")

    files = find_model(file("options.json"), weights=file("lm_weights.hdf5"))
    lite = LiteElmo(convert(files.config, files.datasets, "float32"))
    worst, values = 0.0, 0
    for k, column in enumerate(
        json.loads(file("lm_embeddings_sentences.json").read_text())
    ):
        sentences = [["<S>", *sentence.split(), "</S>"] for sentence in column]
        # The fixture's state flows from sentence to sentence, in both directions, as
        # within one long sentence.
        top = {}
        for step, order in ((1, range(len(column))), (-1, range(len(column))[::-1])):
            words = [word.encode() for i in order for word in sentences[i]]
            x = lite.word_vectors(words)
            lengths = np.array([len(words) - 2])
            layer = lite.layers_of_vectors(x, lengths, keep_boundaries=True)[-1]
            half = np.split(layer, 2, axis=-1)[step == -1]
            ends = np.cumsum([len(sentences[i]) for i in order])[:-1]
            for i, vectors in zip(order, np.split(half, ends)):
                top[i] = [*top.get(i, []), vectors[1:-1]]
        with h5py.File(file(f"lm_embeddings_{k}.hdf5")) as golden:
            for i, halves in top.items():
                expected = golden[str(i)][...]
                actual = np.stack(halves)
                worst = max(worst, np.abs(actual - expected).max())
                values += expected.size
    with capsys.disabled():
        print(f"\n30 golden sentences, {values} values: largest difference {worst:.2e}")
    assert values > 20_000 and worst < 2e-6


@pytest.mark.parametrize("elmo", ["as published"], indirect=True)
def test_c_functions_of_an_unknown_version_are_tried(elmo, read_layer, monkeypatch):
    monkeypatch.setattr(runtime, "KNOWN", ("0.",))
    runtime.library.cache_clear()
    read_layer("int8")
    monkeypatch.setattr(sys, "executable", "false")
    runtime.library.cache_clear()
    with pytest.raises(ImportError, match="2.* are not those of 2.1.6 to 2.3"):
        read_layer("int8")


@pytest.mark.parametrize("n", [37, 4096])
def test_rows_are_those_of_a_dense_layer_in_any_batch(n):
    rng = np.random.default_rng(0)
    kernel, bias = rng.normal(size=(n, 11)), rng.normal(size=11)
    x = rng.normal(size=(131, n)).astype(np.float32)
    kernel[:, 2], x[1] = 1, 1  # the largest sums
    dense = LiteDense(kernel.astype(np.float32), bias)
    expected, atol = x @ kernel + bias, 0.05 * n**0.5  # of sums up to 3 √n, or n
    np.testing.assert_allclose(dense(x), expected, atol=atol)
    np.testing.assert_array_equal(dense(x[64:70]), dense(x)[64:70])
    assert dense(x[:0]).shape == (0, 11)
