"""The recurrence against a plain loop and TensorFlow's own gradient of it."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.base import block_shape
from elmo_keras.layers import (
    BidirectionalLSTM,
    ProjectedLSTM,
    blocked_weights,
    recurrence,
)
from tests.support.models import built, with_gradients

FULL = tf.ones((4, 6), tf.bool)
HOLES = tf.constant([[0, 1, 1, 0, 1, 0], [1] * 6, [0] * 6, [0, 0, 0, 0, 0, 1]]) > 0
MASKS = {"none": None, "lengths": tf.sequence_mask([6, 0, 3, 1], 6), "holes": HOLES}
UNITS, DIM, CELL_CLIP, PROJ_CLIP = 7, 5, 0.6, 0.35
NUMBERS = np.random.default_rng(1)
# Inputs, state (output, cell), kernel, recurrent kernel, bias, projection kernel.
SHAPES = (4, 6, 3), (4, 5), (4, 7), (3, 28), (5, 28), (28,), (7, 5)
VALUES = [tf.constant(NUMBERS.normal(size=shape)) for shape in SHAPES]


def plain(values, mask, reverse):
    """The layer as an unrolled loop over masked steps."""
    x, output, cell, kernel, recurrent, bias, projection = values
    steps = range(x.shape[1])
    outputs = {}
    for t in reversed(steps) if reverse else steps:
        gates = x[:, t] @ kernel + output @ recurrent + bias
        i, j, f, o = tf.split(gates, 4, axis=1)
        new = tf.sigmoid(f + 1) * cell + tf.sigmoid(i) * tf.tanh(j)
        new = tf.clip_by_value(new, -CELL_CLIP, CELL_CLIP)
        out = (tf.sigmoid(o) * tf.tanh(new)) @ projection
        out = tf.clip_by_value(out, -PROJ_CLIP, PROJ_CLIP)
        here = mask[:, t : t + 1]
        output, cell = tf.where(here, out, output), tf.where(here, new, cell)
        outputs[t] = tf.where(here, out, 0.0)
    return [tf.stack([outputs[t] for t in steps], axis=1), output, cell]


@functools.cache
def expected(mask, reverse):
    full = FULL if MASKS[mask] is None else MASKS[mask]
    return with_gradients(lambda: plain(VALUES, full, reverse), VALUES)


def lstm_with_values(reverse):
    clips = {"cell_clip": CELL_CLIP, "proj_clip": PROJ_CLIP}
    options = {"reverse": reverse, "return_state": True, "dtype": "float64"}
    lstm = ProjectedLSTM(UNITS, DIM, **clips, **options)
    lstm.build((None, None, 3))
    kernel, recurrent, bias, projection = (v.numpy() for v in VALUES[3:])
    recurrent, projection = map(blocked_weights.block, (recurrent, projection))
    lstm.set_weights([kernel, recurrent, bias, projection])
    return lstm


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("depth, width", [(1, 4), (1024, 64)])
def test_values_and_gradients_are_those_of_a_plain_loop(
    training, depth, width, unoptimized_graphs, monkeypatch
):
    # Three tokens a piece: the pieces must fit together.
    monkeypatch.setattr(recurrence, "PIECE_SIZE", 3 * 4 * UNITS)
    recurrence.recurrence_graph.cache_clear()
    monkeypatch.setattr(block_shape, "DEPTH", depth)
    monkeypatch.setattr(block_shape, "WIDTH", width)
    monkeypatch.setattr(block_shape, "SMALLEST", 0)
    x, *state = VALUES[:3]
    for reverse in (False, True):
        lstm = lstm_with_values(reverse)
        watched = [*VALUES[:3], *(w.value for w in lstm.weights)]
        for name, mask in MASKS.items():
            options = {"mask": mask, "initial_state": state, "training": training}
            call = functools.partial(lstm, x, **options)
            actual, reference = with_gradients(call, watched), expected(name, reverse)
            for i in (-3, -1):
                actual[i] = blocked_weights.unblock(actual[i])
            for a, b in zip(actual, reference, strict=True):
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)
            clipped = np.abs(actual[0]) == PROJ_CLIP
            assert clipped.any() and not clipped[FULL if mask is None else mask].all()


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3), (0, 0, 3)])
def test_empty_batches_and_sentences(shape):
    lstm = BidirectionalLSTM(2, 7, 5, return_state=True)
    for mask in (None, tf.zeros(shape[:2], tf.bool)):
        outputs, state = lstm(tf.zeros(shape), mask=mask)
        assert [x.shape for x in outputs] == [(*shape[:2], 10)] * 2
        assert all(x.shape[0] == shape[0] for x in tf.nest.flatten(state))


def test_the_cell_state_stays_float32_in_bfloat16():
    lstm = ProjectedLSTM(7, 5, return_state=True, dtype="mixed_bfloat16")
    cell = tf.fill((2, 7), 1 + 2.0**-12)
    state, mask = (tf.zeros((2, 5)), cell), tf.zeros((2, 3), tf.bool)
    output, (_, last) = lstm(tf.zeros((2, 3, 3)), mask=mask, initial_state=state)
    assert output.dtype == tf.bfloat16
    np.testing.assert_array_equal(last, cell)


def test_dropout_is_on_layer_inputs_and_the_last_output_in_training_only():
    lstm = built(BidirectionalLSTM(2, 7, 5, dropout=0.5), 5)
    x = tf.ones((2, 40, 5))
    outputs = lstm(x)
    np.testing.assert_array_equal(outputs[1], lstm(x)[1])
    first, last = lstm(x, training=True)
    assert 0.3 < np.mean(last == 0) < 0.7 and not np.any(first == 0)
    assert len(np.unique(np.round(first, 5))) > len(np.unique(np.round(outputs[0], 5)))
