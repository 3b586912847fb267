"""TensorFlow and LiteRT compute the same vectors."""

import numpy as np
import pytest

from elmo_keras import Embedder
from tests.support.embedding_runs import text_of

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")


SENTENCES = [*text_of(29), "a word"]
OF_TEXT = {"keep_sentence_boundaries": True, "lower_case": True}
KINDS = [
    {"layers": 0},
    {"layers": "average", "pooling": "mean"},
    {"layers": "mix", "gamma": 3.0, "pooling": "max"},
    {"mix": [0.5, -1, 2], "dtype": "float16"},
    {"layers": "all", "keep_sentence_boundaries": True},
    {"layers": "top", "pooling": "mean", **OF_TEXT},
]


TOLERANCES = {"float32": 1e-5, "int8": 0.1}  # error of numbers up to 4


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_litert_gives_the_arrays_of_tensorflow(elmo_with_mix, lite_file, kind):
    expected = Embedder(elmo_with_mix, **kind)(SENTENCES)
    scale = max(float(np.abs(h).max(initial=1)) for h in expected)
    for arithmetic, tolerance in TOLERANCES.items():
        arrays = Embedder(lite_file(arithmetic), **kind)(SENTENCES)
        tolerance = max(tolerance, 2e-3 if "dtype" in kind else 0)
        for a, b in zip(arrays, expected, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)
