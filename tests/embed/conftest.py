"""Shared by the tests of embedding."""

import functools

import pytest

from elmo_keras import Elmo, Embedder, embed_corpus
from elmo_keras.embed import corpus


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
