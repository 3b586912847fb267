"""Vectors that XLA compiles for a few shapes, beside those of the plain graph."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, Embedder
from elmo_keras.embed.engines import tensorflow
from tests.support.models import randomize
from tests.support.sizes import CONFIG

SENTENCES = [["a"], [], ["some", "longer", "words"] * 3, ["vocabularies", "a", "é"]]


def elmo_of(dtype):
    elmo = Elmo(CONFIG, mix=[1.0, 2.0, 3.0], dtype=dtype)
    elmo.build()
    randomize(elmo.bilm)
    return elmo


@pytest.fixture(scope="module")
def elmo():
    return elmo_of("float32")


def vectors_of(monkeypatch, engine, elmo, **options):
    path = "elmo_keras.embed.engines.tensorflow.engine_of_devices"
    monkeypatch.setattr(path, lambda: engine)
    embedder = Embedder(elmo, **options)
    assert type(embedder.engine) is engine
    return [*embedder.encode(SENTENCES), embedder.encode("a longer sentence")], embedder


@pytest.mark.journey
@pytest.mark.parametrize(
    ("dtype", "tolerance", "options"),
    [
        ("float32", 1e-5, {"layers": "all", "keep_sentence_boundaries": True}),
        ("float32", 1e-5, {}),  # sums in another order
        ("bfloat16", 0.02, {}),  # it has 8 bits
    ],
)
def test_compiled_vectors_are_those_of_the_plain_graph(
    monkeypatch, dtype, tolerance, options
):
    engines = tensorflow.TensorFlowEngine, tensorflow.CompiledEngine
    elmo = elmo_of(dtype)
    plain, fixed = (vectors_of(monkeypatch, e, elmo, **options) for e in engines)
    for actual, expected in zip(fixed[0], plain[0], strict=True):
        np.testing.assert_allclose(actual, expected, atol=tolerance)
    engine = fixed[1].engine
    assert engine.arithmetic == dtype
    n_shapes = engine._layers_of_shape.cache_info().currsize
    assert n_shapes == 2  # for four sentences and for one
    fixed[1].encode([["other", "words"], ["a", "b", "c"] * 3, ["some"]])
    assert engine._layers_of_shape.cache_info().currsize == n_shapes


def test_where_xla_fails_the_plain_graph_computes_after_a_warning(monkeypatch, elmo):
    plain, _ = vectors_of(monkeypatch, tensorflow.TensorFlowEngine, elmo)
    select = tensorflow.TensorFlowEngine._select

    def select_with_strings(*args):  # XLA doesn't have it
        return [
            h + 0 * tf.strings.to_number(tf.strings.as_string(h)) for h in select(*args)
        ]

    monkeypatch.setattr(tensorflow.TensorFlowEngine, "_select", select_with_strings)
    with pytest.warns(UserWarning, match="XLA can't compile the vectors") as warned:
        compiled, _ = vectors_of(monkeypatch, tensorflow.CompiledEngine, elmo)
    assert len(warned) == 1
    for actual, expected in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-5)
