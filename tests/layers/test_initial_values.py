"""Weights are not drawn at random if they are read from a file."""

import keras
import numpy as np
import pytest

from elmo_keras import Elmo, ElmoConfig, load_bilm
from elmo_keras.layers import Highway, ProjectedLSTM
from elmo_keras.layers.blocked_weights import values_read_later


def built():
    layers = Highway(), ProjectedLSTM(4, 3)
    layers[0].build((None, 5))
    layers[1].build((None, None, 2))
    return [weight for layer in layers for weight in layer.weights]


def test_large_weights_are_zero_only_while_they_are_read_later():
    with values_read_later():
        weights = built()
    assert not any(np.any(weight) for weight in weights if "kernel" in weight.name)
    assert all(np.any(weight) for weight in built() if "kernel" in weight.name)


@pytest.mark.parametrize("kind", ["GlorotUniform", "RandomNormal", "RandomUniform"])
def test_models_are_read_without_random_weights(model_directory, monkeypatch, kind):
    drawn = []
    initializer = getattr(keras.initializers, kind)
    as_before = initializer.__call__

    def noted(self, shape, dtype=None):
        drawn.append(shape)
        return as_before(self, shape, dtype)

    monkeypatch.setattr(initializer, "__call__", noted)
    for read in (Elmo.from_pretrained, load_bilm):
        read(model_directory)
    assert drawn == []
    Elmo(ElmoConfig.preset("test")).build()
    assert drawn
