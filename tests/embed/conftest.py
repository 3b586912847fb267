"""Shared by the tests of embedding."""

import functools

import pytest

from elmo_keras import Elmo, Embedder, embed_corpus

OF_THE_CALL = "shard", "forget_sentences", "overwrite", "progress", "stop"


@pytest.fixture(scope="session")
def elmo(model_directory):
    return Elmo.from_pretrained(model_directory)


@pytest.fixture(scope="module")
def embed(elmo):
    """`embed_corpus` by the layer, with one embedder for all of the same settings."""
    embedder = functools.cache(functools.partial(Embedder, elmo))

    def run(source, output, **options):
        call = {name: options.pop(name) for name in OF_THE_CALL if name in options}
        if str(output).lower().endswith(".npy"):
            options.setdefault("pooling", "mean")
        return embed_corpus(embedder(**options), source, output, **call)

    return run
