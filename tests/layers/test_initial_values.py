"""Weights are not drawn at random if they are read from a file."""

import keras
import pytest

from elmo_keras import Elmo, ElmoConfig, load_bilm


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
