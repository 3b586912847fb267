"""TensorFlow and LiteRT compute the same vectors."""

import numpy as np
import pytest

from elmo_keras import Elmo, Embedder
from tests.support.embedding_runs import text_of

pytest.importorskip("ai_edge_litert", reason="needs the extra litert")

from elmo_keras.embed.engines.engine import pool
from elmo_keras.lite.convert import convert

SENTENCES = [*text_of(29), "a word"]
KINDS = [
    {"layers": "average"},
    {"layers": 0},
    {"layers": "top", "pooling": "mean"},
    {"layers": "mix", "gamma": 3.0, "pooling": "max"},
    {"mix": [0.5, -1, 2], "dtype": "float16"},
    {"layers": "all", "pooling": "mean"},
    {"layers": "all", "keep_sentence_boundaries": True},
    {"pooling": "mean", "keep_sentence_boundaries": True, "lower_case": True},
]


def test_pooling_is_over_the_tokens_of_each_sentence():
    tokens = np.float32([[1, -5], [3, -7], [2, 9]])
    lengths = np.array([2, 0, 1])
    for pooling, first in ("max", [3, -5]), ("mean", [2, -6]):
        np.testing.assert_array_equal(
            pool(tokens, lengths, pooling), [first, [0, 0], [2, 9]]
        )


@pytest.fixture(scope="module")
def elmo(model_directory):
    elmo = Elmo.from_pretrained(model_directory, layer_norm=True)
    elmo.mixes[0].assign(mix=[0.3, -0.2, 1.0], gamma=2.0)
    return elmo


@pytest.fixture(scope="module")
def files(elmo, tmp_path_factory):
    """Files for LiteRT in float32 and in int8."""
    folder = tmp_path_factory.mktemp("lite")
    paths = {arithmetic: folder / f"{arithmetic}.tflite" for arithmetic in TOLERANCES}
    for arithmetic, path in paths.items():
        convert(elmo, path, arithmetic)
    return paths


TOLERANCES = {"float32": 1e-5, "int8": 0.1}  # of numbers up to 4


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_litert_gives_the_arrays_of_tensorflow(elmo, files, kind):
    expected = Embedder(elmo, **kind)(SENTENCES)
    scale = max(float(np.abs(h).max(initial=1)) for h in expected)
    for arithmetic, tolerance in TOLERANCES.items():
        arrays = Embedder(files[arithmetic], **kind)(SENTENCES)
        tolerance = max(tolerance, 2e-3 if "dtype" in kind else 0)
        for a, b in zip(arrays, expected, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)
