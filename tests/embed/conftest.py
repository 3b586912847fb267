"""Shared by the tests of embedding."""

import functools

import pytest

from elmo_keras import Elmo
from elmo_keras.embed import tensorflow_vectors
from elmo_keras.embed.tensorflow_vectors import TensorFlowVectors


@pytest.fixture(scope="session")
def elmo(model_directory):
    return Elmo.from_pretrained(model_directory)


traced_once = functools.cache(TensorFlowVectors)


@pytest.fixture(autouse=True)
def graphs_are_traced_once(monkeypatch):
    """The LSTMs of one model are traced once, not in each call of `embed_corpus`."""
    monkeypatch.setattr(tensorflow_vectors, "TensorFlowVectors", traced_once)
