"""Shared by the tests of embedding."""

import functools

import pytest

from elmo_keras import Elmo
from elmo_keras.embed import tensorflow_vectors
from elmo_keras.embed.tensorflow_vectors import TensorFlowVectors


@pytest.fixture(scope="session")
def elmo(model_directory):
    return Elmo.from_pretrained(model_directory)


read = Elmo.from_pretrained
read_once = functools.cache(read)
traced_once = functools.cache(TensorFlowVectors)


@pytest.fixture(scope="module", autouse=True)
def graphs_are_traced_once(operations_of_embedders, model_directory):
    """As for users, words have the same bits in any batch.

    But embedders of `model_directory` share the layer, and its graphs.
    """

    def from_pretrained(model, *, weights=None, **kwargs):
        shared = str(model) == str(model_directory) and kwargs == {"dtype": "float32"}
        return (read_once if shared else read)(model, weights=weights, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensorflow_vectors, "_graph", operations_of_embedders)
        patch.setattr(tensorflow_vectors, "TensorFlowVectors", traced_once)
        patch.setattr(Elmo, "from_pretrained", from_pretrained)
        yield
