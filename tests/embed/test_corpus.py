"""Embedding a corpus, in Python and by the command."""

import json
import os

import h5py
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, Embedder, embed_corpus, read_embeddings
from elmo_keras.base import progress
from tests.support import embedding_runs as runs
from tests.support.commands import command
from tests.support.dictionaries import dictionary_config
from tests.support.exported import elmo_layer
from tests.support.models import assert_all_close

main = command("embed")
CLOSE = 1e-5  # sums of numbers up to 4, in another order


@pytest.fixture(scope="module")
def lines():
    return ["", *runs.text_of(40), " ".join(runs.text_of(12)), "", "the end"]


def each(function, lines):
    sentences = [line.split() for line in lines]
    vectors = function(sentences).numpy()
    return [v[..., : len(s), :] for v, s in zip(vectors, sentences)]


@pytest.fixture
def vectors_of(embed, source, tmp_path):
    """The vectors that are read from the output of `embed`."""

    def run(output="out.hdf5", **arguments):
        embed(source, tmp_path / output, **arguments)
        return read_embeddings(tmp_path / output)

    return run


@pytest.fixture(scope="module")
def expected(elmo, lines):
    """All layers of each sentence."""
    return each(elmo.all_layers, lines)


@pytest.fixture
def source(tmp_path, lines):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_file_has_all_layers_in_the_layout_of_allennlp(
    embed, lines, expected, source, tmp_path
):
    output = tmp_path / "out" / "out.hdf5"
    output.parent.mkdir()
    # The longest sentence has more than 50 tokens.
    summary = embed(source, output, layers="all", tokens_at_once=50)
    assert list(output.parent.iterdir()) == [output]
    with read_embeddings(output) as vectors:
        assert_all_close(vectors, expected, CLOSE)
        assert vectors.attributes["dtype"] == "float32"
        assert_all_close([vectors[-1]], expected[-1:], CLOSE)
        with pytest.raises(IndexError):
            vectors[len(lines)]
    with h5py.File(output) as file:
        assert file.keys() == {*map(str, range(len(lines))), "sentence_to_index"}
        assert file["sentence_to_index"].shape == (1,)
        index = json.loads(file["sentence_to_index"][0])
    assert index == {line: str(i) for i, line in enumerate(lines)}
    tokens = [token for line in lines for token in line.split()]
    assert (summary.sentences, summary.tokens) == (len(lines), len(tokens))


def mean_of(layers):
    return layers.mean(axis=1) if layers.shape[1] else np.zeros((3, 10))


@pytest.mark.parametrize(
    ("arguments", "choose"),
    [
        ({"layers": "average"}, lambda h: h.mean(axis=0)),
        ({"layers": "top"}, lambda h: h[-1]),
        # Words that left the cache are computed again.
        ({"layers": 0, "tokens_at_once": 10, "cache_bytes": 1}, lambda h: h[0]),
        ({"layers": 1}, lambda h: h[1]),
        ({"output": "out.npy", "layers": "all", "tokens_at_once": 30}, mean_of),
    ],
)
def test_one_layer_the_average_and_means_over_the_tokens_can_be_chosen(
    vectors_of, expected, arguments, choose
):
    assert_all_close(vectors_of(**arguments), map(choose, expected), CLOSE)


def test_float16_is_rounded_float32_also_as_a_dataset(vectors_of, expected):
    dataset = vectors_of(layers="all", dtype="float16").dataset()
    assert dataset.element_spec == tf.TensorSpec((3, None, 10), tf.float16)
    for _ in range(2):
        for a, b in zip(dataset.as_numpy_iterator(), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=CLOSE)


@pytest.mark.parametrize("ending", ["hdf5", "npy", "parquet"])
def test_shards_are_read_as_one(embed, expected, source, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    for i in (3, 1):
        embed(source, path, layers="top", shard=(i, 3))
    with pytest.raises(FileNotFoundError, match="Shard 2 of 3 .* is missing"):
        read_embeddings(path)
    embed(source, path, layers="top", shard=(2, 3))
    tops = [layers[-1] for layers in expected]
    if ending == "npy":
        tops = [mean_of(layers)[-1] for layers in expected]
    assert_all_close(read_embeddings(path), tops, CLOSE)
    assert (tmp_path / f"out.2-of-3.{ending}").exists()


@pytest.mark.usefixtures("eagerly")
def test_a_model_with_a_dictionary_knows_its_own_boundaries(source, tmp_path):
    elmo, lines = elmo_layer(dictionary_config()), ["a <S> word", "", "naïve <eos>"]
    source.write_text("\n".join(lines))
    embed_corpus(Embedder(elmo, layers="all"), source, tmp_path / "out.hdf5")
    assert_all_close(
        read_embeddings(tmp_path / "out.hdf5"), each(elmo.all_layers, lines)
    )


def test_no_lines_give_an_empty_file(vectors_of, source):
    source.write_text("")
    for name in ("out.npy", "out.parquet", "out.hdf5"):
        vectors = vectors_of(name, layers=0)
        assert len(vectors) == 0
    with pytest.raises(ValueError, match="no sentences"):
        vectors.dataset()


def test_a_stopped_call_resumes_and_computes_nothing_twice(embed, source, tmp_path):
    options, stops = {"layers": 0, "tokens_at_once": 30}, iter([False] * 3)
    output = tmp_path / "out.npy"
    first = embed(source, output, stop=lambda: next(stops, True), **options)
    assert not first.finished and not output.exists() and first.tokens_now > 0
    summary = embed(source, output, **options)
    assert 0 < summary.tokens_now == summary.tokens - first.tokens_now


def test_a_pipe_overwrites_what_belongs_to_another_text(embed, source, tmp_path):
    options = {"layers": 0, "tokens_at_once": 30}
    embed(source, tmp_path / "out.npy", **options)
    embed(source, tmp_path / "out.npy", overwrite=True, stop=lambda: True, **options)
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as file:
        file.write("another text")
        file.close()
        embed(f"/dev/fd/{reading}", tmp_path / "out.npy", overwrite=True, **options)
    assert np.load(tmp_path / "out.npy").shape == (1, 10)


def test_the_command_mixes_layers_and_prints_a_summary(
    source, model_directory, lines, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(progress, "BETWEEN_LINES", 0)
    output = tmp_path / "out.hdf5"
    command = [str(source), str(output), "--model", str(model_directory), "--float16"]
    assert main([*command, "--mix", "0.5,-1,2", "--gamma", "3"]) == 0
    shown = capsys.readouterr()
    assert f"{len(lines)} sentences" in shown.out and "tokens/s" in shown.out
    assert "100%" in shown.err and "tokens/s" in shown.err
    weights = np.exp([0.5, -1, 2]) / np.exp([0.5, -1, 2]).sum()
    elmo = Elmo.from_pretrained(model_directory)
    layers = elmo.all_layers([lines[-1].split()])[0].numpy()
    mixed = 3 * np.tensordot(weights, layers, 1)
    actual = read_embeddings(output)
    np.testing.assert_allclose(actual[len(lines) - 1], mixed, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(actual.attributes["mix"], weights, rtol=1e-6)
