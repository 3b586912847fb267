"""Attention over sentences."""

import numpy as np

from elmo_keras.tasks.layers.pooling import masked_softmax, soft_alignment
from tests.support.masked_batches import LENGTHS, masked_batch
from tests.support.reference import softmax


def test_softmax_is_shared_among_the_real_places_only():
    weights = np.array(
        masked_softmax(np.array([[1.0, 2.0, 9.0], [4.0, 5.0, 6.0]]), [[1, 1, 0]] * 2)
    )
    share = 1 / (1 + np.e)
    np.testing.assert_allclose(weights, [[share, 1 - share, 0]] * 2, atol=1e-6)
    assert not np.any(masked_softmax(np.array([[1.0, 2.0]]), [[False, False]]))
    np.testing.assert_array_equal(masked_softmax(np.array([[3.0]]), [[True]]), [[1.0]])


def test_each_query_gets_the_weighted_mean_of_the_real_keys():
    keys, mask = masked_batch(3)
    queries = np.random.default_rng(1).normal(size=(4, 2, 3)).astype("float32")
    aligned = np.array(soft_alignment(queries, keys, mask))
    for i, n in enumerate(LENGTHS):
        weights = softmax(queries[i] @ keys[i, :n].T) if n else None
        expected = weights @ keys[i, :n] if n else np.zeros((2, 3))
        np.testing.assert_allclose(aligned[i], expected, atol=1e-5)
