"""Shared by the tests of embedding."""

import functools
import importlib.util

import pytest

from elmo_keras import Embedder, embed_corpus

OF_THE_CALL = "shard", "forget_sentences", "overwrite", "progress", "stop"


@pytest.fixture(scope="session")
def elmo(elmo_with_mix):
    return elmo_with_mix


@pytest.fixture(scope="session")
def quick(elmo, request):
    """The same model for LiteRT, if there is one: TensorFlow traces two graphs first."""
    if importlib.util.find_spec("ai_edge_litert") is None:
        return elmo
    return request.getfixturevalue("lite_file")("float32")


@pytest.fixture(scope="module")
def embed(quick):
    """`embed_corpus`, with one embedder for all of the same settings."""
    embedder = functools.cache(functools.partial(Embedder, quick))

    def run(source, output, **options):
        call = {name: options.pop(name) for name in OF_THE_CALL if name in options}
        if str(output).lower().endswith(".npy"):
            options.setdefault("pooling", "mean")
        return embed_corpus(embedder(**options), source, output, **call)

    return run
