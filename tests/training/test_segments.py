"""Rows cut where a sentence starts from the zero state, against segments read alone."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import StackedLSTM
from elmo_keras.training.segments import Segments, over_segments
from tests.support.models import randomize

ROWS, TIME, DIM = 5, 7, 3
PATTERNS = {
    "none": np.zeros((ROWS, TIME), bool),
    "all": np.ones((ROWS, TIME), bool),
    "some": np.random.default_rng(1).random((ROWS, TIME)) < 0.3,
    "first": np.arange(TIME) == np.zeros((ROWS, 1)),
    "last": np.arange(TIME) == np.full((ROWS, 1), TIME - 1),
}


@pytest.fixture(scope="module")
def lstm():
    lstm = StackedLSTM(2, units=4, projection_dim=2, return_state=True)
    lstm.build((None, None, DIM))
    return randomize(lstm)


@pytest.fixture(scope="module")
def rows():
    """Inputs of rows and the state that they continue from."""
    rng = np.random.default_rng(0)
    state = [(rng.normal(size=(ROWS, 2)), rng.normal(size=(ROWS, 4))) for _ in range(2)]
    inputs = tf.constant(rng.normal(size=(ROWS, TIME, DIM)), tf.float32)
    return inputs, tf.nest.map_structure(lambda x: tf.constant(x, tf.float32), state)


def read(lstm, rows, from_zero):
    inputs, state = rows
    segments = Segments(*map(tf.constant, Segments.of(from_zero)))
    return over_segments(lstm.call_packed, inputs, segments, state=state)


def borders(row):
    """Where the segments of a row start, and its end."""
    return [0, *(np.flatnonzero(row[1:]) + 1), TIME]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_segment_is_read_as_if_it_were_alone(lstm, rows, pattern):
    from_zero, (inputs, state) = PATTERNS[pattern], rows
    outputs, last = read(lstm, rows, from_zero)
    for r in range(ROWS):
        own = tf.nest.map_structure(lambda x, r=r: x[r : r + 1], state)
        for start, end in itertools.pairwise(borders(from_zero[r])):
            if from_zero[r, start]:
                own = tf.nest.map_structure(tf.zeros_like, own)
            expected, own = lstm(inputs[r : r + 1, start:end], initial_state=own)
            for layer, alone in zip(outputs, expected, strict=True):
                # Products of other numbers of rows are summed in another order.
                np.testing.assert_allclose(layer[r, start:end], alone[0], atol=1e-6)
        for part, alone in zip(*map(tf.nest.flatten, (last, own)), strict=True):
            np.testing.assert_allclose(part[r], alone[0], atol=1e-6)


def test_no_gradient_flows_to_tokens_before_a_start_from_zero(lstm, rows):
    inputs, state = rows
    from_zero = np.zeros((ROWS, TIME), bool)
    from_zero[1, 4] = True
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs, _ = read(lstm, (inputs, state), from_zero)
        after = tf.reduce_sum(outputs[-1][:, 4:])
    reached = np.any(tape.gradient(after, inputs).numpy() != 0, axis=2)
    assert not reached[1, :4].any() and reached[1, 4:].all()
    assert np.delete(reached, 1, axis=0).all()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_packing_takes_every_token_once_and_the_longest_segments_first(pattern):
    from_zero = PATTERNS[pattern]
    segments = Segments.of(from_zero)
    assert sorted(segments.order) == list(range(ROWS * TIME))
    assert segments.sizes.sum() == ROWS * TIME
    assert (np.diff(segments.sizes) <= 0).all()
    assert len(segments.begin) == segments.sizes[0]
    n_zero = (segments.begin == ROWS).sum()
    assert n_zero == from_zero.sum()
    assert all(field.dtype == np.int32 for field in segments)
