"""Pooling of token vectors, without the padding."""

import keras
import numpy as np
import pytest

from elmo_keras.tasks.classify.classifier import Maxout
from elmo_keras.tasks.layers.pooling import (
    SelfAttentivePooling,
    masked_max,
    masked_mean,
    masked_min,
)
from tests.support.masked_batches import LENGTHS, masked_batch
from tests.support.reference import softmax


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
