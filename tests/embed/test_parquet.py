"""Parquet files of vectors."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras import read_embeddings
from elmo_keras.embed.writers import parquet

LINES = ["a word", "", "three words here", "naïve 한국어 🙂", "a", "and a longer line"]


@pytest.fixture(scope="module")
def layers(elmo):
    """The layers of each line: `(3, tokens, 10)`."""
    return [np.asarray(elmo.all_layers([line.split()])[0]) for line in LINES]


@pytest.fixture
def source(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    return tmp_path / "text.txt"


def test_each_layer_has_a_column(embed, layers, source, tmp_path):
    embed(source, tmp_path / "out.parquet", layers="all", tokens_at_once=8)
    columns = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert columns["id"] == list(range(6)) and columns["text"] == LINES
    assert list(columns) == ["id", "text", "layer_0", "layer_1", "layer_2"]
    for i, expected in enumerate(layers):
        for layer, vectors in enumerate(expected):
            actual = np.reshape(columns[f"layer_{layer}"][i], (-1, 10))
            np.testing.assert_allclose(actual, vectors, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_vectors_of_tokens_are_lists_of_one_size(
    embed, layers, source, tmp_path, dtype
):
    path = tmp_path / "out.parquet"
    embed(source, path, layers="top", dtype=dtype, forget_sentences=True)
    number = pa.from_numpy_dtype(dtype)
    schema = pq.read_schema(path)
    assert schema.names == ["id", "vectors"]
    assert schema.field("vectors").type == pa.list_(pa.list_(number, 10))
    with read_embeddings(path) as vectors:
        assert vectors.dataset().element_spec.shape.as_list() == [None, 10]
        for actual, expected in zip(vectors, layers, strict=True):
            assert actual.dtype == dtype
            np.testing.assert_allclose(actual, expected[-1], atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_a_sentence_has_one_vector_and_the_metadata_say_which(
    elmo, embed, layers, source, tmp_path, pooling
):
    path = tmp_path / "out.parquet"
    embed(source, path, layers=1, pooling=pooling)
    schema = pq.read_schema(path)
    assert schema.field("vector").type == pa.list_(pa.float32(), 10)
    about = json.loads(schema.metadata[b"elmo_keras"])
    assert about["model"] == elmo.bilm.digest() and about["layers"] == "1"
    assert about["options"] == json.loads(json.dumps(elmo.config.to_dict()))
    assert about["pooling"] == pooling
    embed(source, tmp_path / "out.npy", layers=1, pooling=pooling)
    with read_embeddings(path) as embeddings:
        assert embeddings.attributes == about
        for i, expected in enumerate(layers):
            pooled = getattr(expected[1], pooling)(axis=0) if i != 1 else np.zeros(10)
            np.testing.assert_allclose(embeddings[i], pooled, atol=1e-5)
        np.testing.assert_array_equal(list(embeddings), np.load(tmp_path / "out.npy"))


def test_row_groups_are_small_and_in_order(embed, source, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 200)
    path = tmp_path / "out.parquet"
    embed(source, path, layers=0, tokens_at_once=6)
    groups = pq.ParquetFile(path).metadata
    assert groups.num_row_groups >= 3
    with read_embeddings(path) as embeddings:
        assert [len(vectors) for vectors in embeddings] == [2, 0, 3, 3, 1, 4]
        assert len(embeddings[-1]) == 4 and len(embeddings[0]) == 2
