"""Shared by the tests of embedding."""

import functools

import pytest
import tensorflow as tf

from elmo_keras import Elmo, Embedder, embed_corpus
from elmo_keras.embed import corpus


@pytest.fixture(scope="module")
def graphs_as_they_were_traced():
    """Optimising a graph takes longer than running it on a few sentences.

    Only optimised graphs give a word the same bits in any batch.
    """
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


@pytest.fixture(scope="session")
def elmo(model_directory):
    return Elmo.from_pretrained(model_directory)


@pytest.fixture(scope="module")
def embed(elmo):
    """`embed_corpus` by the layer, with one embedder for all of the same settings."""
    cached = functools.cache(Embedder)

    def run(*arguments, **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(corpus, "Embedder", cached)
            return embed_corpus(elmo, *arguments, **options)

    return run
