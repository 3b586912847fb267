"""Eager calls: in single operations, in a graph, and in compiled runs."""

import copy

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import graph_later
from elmo_keras.layers.compiled_runs import FEW
from tests.support.exported import elmo_layer
from tests.support.models import randomize

WORDS = [["Rivers", "bend", "."], ["One"]]


def test_graph_and_compiled_runs_give_the_same_vectors(config, monkeypatch, request):
    elmo = elmo_layer(config, keep_sentence_boundaries=True)
    expected = elmo.layers(WORDS)
    monkeypatch.setattr(graph_later, "CALLS_BEFORE_GRAPH", 2)
    np.testing.assert_allclose(elmo.layers(WORDS), expected, atol=1e-6)
    request.getfixturevalue("compiled_at_once")
    np.testing.assert_allclose(elmo.layers(WORDS), expected, atol=1e-6)
    sentences = elmo._eager_layers
    assert sentences._first.graph is not None
    assert [*sentences._compiled] == [FEW]
    # The weights are read, not copied.
    randomize(elmo.bilm, seed=2)
    changed = elmo.layers(WORDS)
    elmo.jit_compile = False
    np.testing.assert_allclose(elmo.layers(WORDS), changed, atol=1e-6)
    assert np.abs(changed - expected).max() > 0.1
    np.testing.assert_allclose(copy.deepcopy(elmo).layers(WORDS), changed, atol=1e-6)


@pytest.mark.parametrize("trained", ["call", "layer"])
def test_what_is_trained_is_not_compiled(config, compiled_at_once, trained):
    elmo = elmo_layer(config, trainable_bilm=trained == "layer")
    with tf.GradientTape() as tape:
        score = tf.reduce_sum(elmo(WORDS, training=trained == "call") ** 2)
    weights = elmo.trainable_weights
    assert all(gradient is not None for gradient in tape.gradient(score, weights))
    assert not elmo._eager_layers._compiled
