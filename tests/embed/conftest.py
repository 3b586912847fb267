"""Shared by the tests of embedding."""

import functools
from pathlib import Path

import pytest
import tensorflow as tf

from elmo_keras import Elmo, Embedder
from elmo_keras.embed.corpus import default_pooling, write_vectors
from elmo_keras.embed.outputs import check_output


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
def embedder(elmo):
    """Embedders of the layer, one for all tests with the same settings."""
    return functools.cache(functools.partial(Embedder, elmo))


@pytest.fixture(scope="module")
def embed(embedder):
    """`embed_corpus` by these embedders."""

    def run(
        source,
        output,
        *,
        shard=(1, 1),
        overwrite=False,
        forget_sentences=False,
        stop=lambda: False,
        **settings,
    ):
        source, output = Path(source), Path(output)
        pooling = default_pooling(output, settings.pop("pooling", None))
        output = check_output(
            output, [source], shard=shard, pooling=pooling, overwrite=overwrite
        )
        return write_vectors(
            embedder(pooling=pooling, **settings),
            source,
            output,
            shard=shard,
            forget_sentences=forget_sentences,
            overwrite=overwrite,
            stop=stop,
        )

    return run
