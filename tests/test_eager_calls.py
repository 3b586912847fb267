"""Eager calls, which run in a graph."""

import copy

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo
from tests.support.models import randomize

WORDS = [["Rivers", "bend", "."], ["One"]]


@pytest.fixture(autouse=True)
def graphs_of_eager_calls(as_for_users):
    """Eager calls run in a graph."""
    with as_for_users():
        yield


def layer(config, **kwargs):
    elmo = Elmo(config, **kwargs)
    elmo.build()
    randomize(elmo.bilm)
    return elmo


def test_the_graph_reads_the_weights_of_its_layer(config):
    elmo = layer(config, keep_sentence_boundaries=True)
    first = elmo.all_layers(WORDS)
    randomize(elmo.bilm, seed=2)
    changed = elmo.all_layers(WORDS)
    assert np.abs(changed - first).max() > 0.1
    other = copy.deepcopy(elmo)
    np.testing.assert_array_equal(other.all_layers(WORDS), changed)
    randomize(other.bilm)
    np.testing.assert_array_equal(other.all_layers(WORDS), first)
    np.testing.assert_array_equal(elmo.all_layers(WORDS), changed)


@pytest.mark.parametrize("trained", ["call", "layer"])
def test_what_is_trained_has_gradients(config, trained):
    elmo = layer(config, trainable_bilm=trained == "layer")
    with tf.GradientTape() as tape:
        score = tf.reduce_sum(elmo(WORDS, training=trained == "call") ** 2)
    weights = elmo.trainable_weights
    assert all(gradient is not None for gradient in tape.gradient(score, weights))
