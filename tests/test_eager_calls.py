"""Eager calls, which run in a graph."""

import copy

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo
from tests.support.models import randomize

WORDS = [["Rivers", "bend", "."], ["One"]]


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


def test_tensorflow_can_be_told_to_compute_without_the_graph(config, eagerly):
    elmo, eager = layer(config), []
    token_vectors = elmo.bilm.token_vectors

    def recorded(*arguments):
        eager.append(tf.executing_eagerly())
        return token_vectors(*arguments)

    elmo.bilm.token_vectors = recorded
    for _ in range(2):
        elmo(WORDS)
    assert eager == [True, True]


@pytest.mark.parametrize("trained", ["call", "layer"])
def test_what_is_trained_has_gradients(config, trained):
    elmo = layer(config, trainable_bilm=trained == "layer")
    with tf.GradientTape() as tape:
        score = tf.reduce_sum(elmo(WORDS, training=trained == "call") ** 2)
    weights = elmo.trainable_weights
    assert all(gradient is not None for gradient in tape.gradient(score, weights))
