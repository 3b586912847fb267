"""Shared by the tests of embedding."""

import functools

import pytest

from elmo_keras import Elmo
from elmo_keras.embed import tensorflow_vectors
from elmo_keras.embed.tensorflow_vectors import TensorFlowVectors


@pytest.fixture(scope="session")
def elmo(model_directory):
    return Elmo.from_pretrained(model_directory)


@pytest.fixture(scope="module", autouse=True)
def graphs_are_traced(operations_of_embedders):
    """As for users: words have the same bits in any batch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensorflow_vectors, "_graph", operations_of_embedders)
        yield


traced_once = functools.cache(TensorFlowVectors)


@pytest.fixture(autouse=True)
def graphs_are_traced_once(monkeypatch):
    """The LSTMs of one model are traced once, not in each call of `embed_corpus`."""
    monkeypatch.setattr(tensorflow_vectors, "TensorFlowVectors", traced_once)
