"""Attention and pooling: their numbers, and that padding has no part in them."""

import keras
import numpy as np
import pytest

from elmo_keras.tasks.models.attention import masked_softmax, soft_alignment
from elmo_keras.tasks.models.maxout import Maxout
from elmo_keras.tasks.models.pooling import (
    SelfAttentivePooling,
    masked_max,
    masked_mean,
    masked_min,
)

RNG = np.random.default_rng(0)
LENGTHS = [3, 0, 5, 1]


def sentences(dim, longest=5):
    """Vectors (4, longest, dim) with large numbers at padding, and their mask."""
    x = RNG.normal(size=(len(LENGTHS), longest, dim)).astype("float32")
    mask = np.arange(longest) < np.array(LENGTHS)[:, None]
    return np.where(mask[..., None], x, 1e3 * np.sign(x)), mask


def softmax(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def test_softmax_is_shared_among_the_real_places_only():
    weights = np.array(
        masked_softmax(np.array([[1.0, 2.0, 9.0], [4.0, 5.0, 6.0]]), [[1, 1, 0]] * 2)
    )
    share = 1 / (1 + np.e)
    np.testing.assert_allclose(weights, [[share, 1 - share, 0]] * 2, atol=1e-6)
    assert not np.any(masked_softmax(np.array([[1.0, 2.0]]), [[False, False]]))
    np.testing.assert_array_equal(masked_softmax(np.array([[3.0]]), [[True]]), [[1.0]])


def test_each_query_gets_the_mean_of_the_real_keys_that_are_like_it():
    keys, mask = sentences(3)
    queries = RNG.normal(size=(4, 2, 3)).astype("float32")
    aligned = np.array(soft_alignment(queries, keys, mask))
    for i, n in enumerate(LENGTHS):
        weights = softmax(queries[i] @ keys[i, :n].T)
        expected = weights @ keys[i, :n] if n else np.zeros((2, 3))
        np.testing.assert_allclose(aligned[i], expected, atol=1e-5)


@pytest.mark.parametrize(
    "pool, oracle", [(masked_mean, np.mean), (masked_max, np.max), (masked_min, np.min)]
)
def test_pooling_sees_the_real_tokens_only(pool, oracle):
    x, mask = sentences(2)
    expected = [oracle(r[:n], axis=0) if n else [0, 0] for r, n in zip(x, LENGTHS)]
    np.testing.assert_allclose(pool(x, mask), expected, atol=1e-6)
    # Small numbers at padding must not win either.
    np.testing.assert_allclose(
        pool(-x, mask), pool(np.where(mask[..., None], -x, 0), mask)
    )


def test_attentive_pooling_weighs_the_real_tokens_by_a_learned_score():
    x, mask = sentences(2)
    pooling = SelfAttentivePooling()
    pooling.build((None, None, 2))
    pooling.score.set_weights([np.array([[0.5], [-2.0]]), np.array([7.0])])
    pooled = np.array(pooling(x, mask))
    for i, n in enumerate(LENGTHS):
        weights = softmax(x[i, :n] @ [0.5, -2.0])
        np.testing.assert_allclose(pooled[i], weights @ x[i, :n], atol=1e-5)


def test_maxout_takes_the_largest_of_its_maps():
    layer = Maxout(2, pieces=3)
    layer.build((None, 1))
    kernel = [[1.0, 0.0, -1.0, 2.0, 0.0, -3.0]]  # (map, unit): the unit changes fastest
    layer.dense.set_weights([np.array(kernel), np.array([0.0] * 4 + [1.5, 0.0])])
    x = np.array([[1.0], [-2.0]], "float32")
    np.testing.assert_allclose(layer(x), [[1.5, 2.0], [2.0, 6.0]])


@pytest.mark.parametrize("layer", [SelfAttentivePooling(), Maxout(3, pieces=2)])
def test_the_layers_are_made_again_from_their_configuration(layer):
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    )
    assert type(again) is type(layer) and again.get_config() == layer.get_config()
