"""Vectors for the batches of Ray datasets."""

import numpy as np
import pyarrow as pa
import pytest

from elmo_keras import Embedder
from tests.support import stand_in_ray

TEXTS = ["a word", "", "three words here"]


@pytest.fixture(scope="module")
def batch_embedder():
    with stand_in_ray.installed() as (_, module):
        yield module.BatchEmbedder


@pytest.fixture(scope="module")
def of_tokens(batch_embedder, model_directory):
    return batch_embedder(model_directory, "said", layers="all")


@pytest.fixture(scope="module")
def pooled(batch_embedder, model_directory):
    return batch_embedder(model_directory, layers="top", pooling="max", dtype="float16")


@pytest.fixture(scope="module")
def layers(model_directory):
    return Embedder(model_directory, layers="all")(TEXTS)


def test_a_table_gets_lists_of_vectors(of_tokens, layers):
    table = pa.table({"n": [1, 2, 3], "said": TEXTS})
    found = of_tokens(table)
    assert found.column_names == ["n", "said", "layer_0", "layer_1", "layer_2"]
    assert found.schema.field("layer_1").type == pa.list_(pa.list_(pa.float32(), 10))
    for row, wanted in enumerate(layers):
        for layer in range(3):
            vectors = np.reshape(found[f"layer_{layer}"][row].as_py(), (-1, 10))
            np.testing.assert_array_equal(vectors, wanted[layer])


def test_a_dictionary_gets_an_array_for_each_row(of_tokens, layers):
    batch = {"n": np.arange(3), "said": np.array(TEXTS, object)}
    found = of_tokens(batch)
    assert list(found) == ["n", "said", "layer_0", "layer_1", "layer_2"]
    for row, wanted in enumerate(layers):
        np.testing.assert_array_equal(found["layer_2"][row], wanted[2])
    same = of_tokens({"said": np.array(["one two"] * 2)})["layer_0"]
    assert same.shape == (2,) and same[0].shape == (2, 10)


def test_a_sentence_has_one_vector(pooled, layers):
    wanted = [h[2].max(axis=0) if h[2].size else np.zeros(10) for h in layers]
    table = pooled(pa.table({"text": TEXTS}))
    assert table.schema.field("vector").type == pa.list_(pa.float16(), 10)
    np.testing.assert_allclose(table["vector"].to_pylist(), wanted, rtol=2e-3)
    found = pooled({"text": np.array(TEXTS)})["vector"]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, wanted, rtol=2e-3)


@pytest.mark.filterwarnings("ignore:A token holds a space")
def test_lists_of_tokens_are_not_split(pooled):
    tokens = pa.table({"text": [["New York", "."]]})
    text = pa.table({"text": ["New York ."]})
    assert pooled(tokens)["vector"] != pooled(text)["vector"]
    lists = np.empty(1, object)
    lists[0] = np.array(["New York", "."], object)
    found = pooled({"text": lists})["vector"][0]
    np.testing.assert_array_equal(found, pooled(tokens)["vector"][0].as_py())


def test_no_rows_have_the_same_columns(pooled, of_tokens):
    table = pooled(pa.table({"text": pa.array([], pa.string())}))
    assert table.schema.field("vector").type == pa.list_(pa.float16(), 10)
    assert len(of_tokens({"said": np.array([], object)})["layer_0"]) == 0


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"other": ["a"]}, "text"),
        ({"text": ["a", None]}, "Sentence 1 should be a str"),
        ({"text": [["a", ""]]}, "tokens of sentence 0 should not be empty"),
        ({"text": ["a"], "vector": [1]}, "already has a column `vector`"),
    ],
)
def test_a_bad_batch_is_refused(pooled, batch, message):
    with pytest.raises((KeyError, TypeError, ValueError), match=message):
        pooled(pa.table(batch))
    with pytest.raises(TypeError, match="should be a table or a dictionary"):
        pooled([batch])
