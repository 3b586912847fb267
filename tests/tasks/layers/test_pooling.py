"""Attention, pooling and pairs, without the padding."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.classify.classifier import Maxout
from elmo_keras.tasks.layers.bilstm import stacked_pair
from elmo_keras.tasks.layers.pooling import (
    SelfAttentivePooling,
    masked_max,
    masked_mean,
    masked_min,
    masked_softmax,
    soft_alignment,
)
from tests.support.reference import softmax

LENGTHS = [3, 0, 5, 1]


def masked_batch(dim):
    """Vectors (4, 5, dim), with large numbers at padding, and their mask."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(len(LENGTHS), max(LENGTHS), dim)).astype("float32")
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    return np.where(mask[..., None], x, 1e3 * np.sign(x)), mask


@pytest.mark.parametrize(
    "pool, oracle", [(masked_mean, np.mean), (masked_max, np.max), (masked_min, np.min)]
)
def test_pooling_sees_the_real_tokens_only(pool, oracle):
    x, mask = masked_batch(2)
    expected = [oracle(r[:n], axis=0) if n else [0, 0] for r, n in zip(x, LENGTHS)]
    np.testing.assert_allclose(pool(x, mask), expected, atol=1e-6)
    # Small numbers at padding must not win either.
    np.testing.assert_allclose(
        pool(-x, mask), pool(np.where(mask[..., None], -x, 0), mask)
    )


def test_attentive_pooling_weighs_the_real_tokens_by_a_learned_score():
    x, mask = masked_batch(2)
    pooling = SelfAttentivePooling()
    pooling.build((None, None, 2))
    pooling.score.set_weights([np.array([[0.5], [-2.0]]), np.array([7.0])])
    pooled = np.array(pooling(x, mask))
    for i, n in enumerate(LENGTHS):
        weights = softmax(x[i, :n] @ [0.5, -2.0]) if n else np.zeros(0)
        np.testing.assert_allclose(pooled[i], weights @ x[i, :n], atol=1e-5)


@pytest.mark.parametrize("layer", [SelfAttentivePooling(), Maxout(3, pieces=2)])
def test_layers_are_made_again_from_their_configuration(layer):
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    )
    assert type(again) is type(layer) and again.get_config() == layer.get_config()


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


def test_the_texts_of_pairs_become_one_batch():
    inputs = {"one": tf.constant([["a", "b"]]), "two": tf.constant([["c", "d", "e"]])}
    tokens, layers = stacked_pair(inputs, "one", "two")
    assert tokens.numpy().tolist() == [[b"a", b"b", b""], [b"c", b"d", b"e"]]
    assert layers is None
    more = {"one_layers": tf.ones((1, 3, 2, 5)), "two_layers": tf.ones((1, 3, 3, 5))}
    _, layers = stacked_pair(inputs | more, "one", "two")
    sums = tf.reduce_sum(layers, axis=(1, 3)).numpy().tolist()
    assert sums == [[15, 15, 0], [15, 15, 15]]
