"""Shared by the tests of embedding."""

import functools

import pytest

from elmo_keras import Elmo
from elmo_keras.embed import embedder
from elmo_keras.embed.sentence_vectors import SentenceVectors


@pytest.fixture(scope="session")
def elmo(model_directory):
    return Elmo.from_pretrained(model_directory)


traced_once = functools.cache(SentenceVectors)


@pytest.fixture(autouse=True)
def graphs_are_traced_once(monkeypatch):
    """The LSTMs of one model are traced once, not in each call of `embed_corpus`."""

    def vectors(*of, **kinds):
        return (SentenceVectors if kinds["jit_compile"] else traced_once)(*of, **kinds)

    monkeypatch.setattr(embedder, "SentenceVectors", vectors)
