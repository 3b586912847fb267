"""Shared by the tests of embedding."""

import functools
import importlib

import pytest

from elmo_keras.embed.batch_vectors import SentenceVectors

traced_once = functools.cache(SentenceVectors)


@pytest.fixture(autouse=True)
def graphs_are_traced_once(monkeypatch):
    """The LSTMs of one model are traced once, not in each call of `embed_corpus`."""
    module = importlib.import_module("elmo_keras.embed.corpus_job")
    monkeypatch.setattr(module, "SentenceVectors", traced_once)
