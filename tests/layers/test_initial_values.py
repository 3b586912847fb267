"""Large weights are not drawn at random if they are read from a file."""

import keras
import numpy as np

from elmo_keras import Elmo, load_bilm
from elmo_keras.layers import Highway, ProjectedLSTM
from elmo_keras.layers.initial_values import values_read_later


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


def test_models_are_read_without_random_large_weights(model_directory, monkeypatch):
    drawn = []
    random_uniform = keras.initializers.GlorotUniform.__call__

    def noted(self, shape, dtype=None):
        drawn.append(shape)
        return random_uniform(self, shape, dtype)

    monkeypatch.setattr(keras.initializers.GlorotUniform, "__call__", noted)
    for read in (Elmo.from_pretrained, load_bilm):
        read(model_directory)
    assert drawn == []
    ProjectedLSTM(4, 3).build((None, None, 2))
    assert drawn
