"""Sentences that are read from a start state, against a state that is passed in."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import BidirectionalLSTM
from tests.support.models import built

LENGTHS = np.array([3, 1, 5], np.int32)
N_LAYERS, UNITS, DIM = 2, 7, 5
RNG = np.random.default_rng(0)
X = tf.constant(RNG.normal(size=(LENGTHS.sum(), DIM)), tf.float32)
OUTPUT = RNG.normal(size=(2, N_LAYERS, DIM)).astype("float32")
CELL = RNG.normal(size=(2, N_LAYERS, UNITS)).astype("float32")
START = [  # as `initial_state` of a batch
    [
        tuple(np.repeat(part[d, j][None], len(LENGTHS), 0) for part in (OUTPUT, CELL))
        for j in range(N_LAYERS)
    ]
    for d in range(2)
]
MASK = tf.sequence_mask(LENGTHS)
BATCH = tf.RaggedTensor.from_row_lengths(X, LENGTHS).to_tensor()


@pytest.fixture(scope="module")
def plain():
    return built(BidirectionalLSTM(N_LAYERS, UNITS, DIM), DIM)


@pytest.fixture
def started(plain):
    lstm = BidirectionalLSTM(N_LAYERS, UNITS, DIM, has_start_state=True)
    lstm.build((None, None, DIM))
    for weight, value in zip(lstm.trainable_weights, plain.get_weights(), strict=True):
        weight.assign(value)
    lstm.assign_start_state(OUTPUT, CELL)
    return lstm


def test_each_row_is_read_from_the_start_state(plain, started):
    started.assign_start_state(0 * OUTPUT, 0 * CELL)
    zero = started(BATCH, mask=MASK)
    started.assign_start_state(OUTPUT, CELL)
    expected = plain(BATCH, mask=MASK, initial_state=START)
    for actual, wanted, other in zip(started(BATCH, mask=MASK), expected, zero):
        np.testing.assert_array_equal(actual, wanted)
        # Both halves of each sentence's outputs depend on it.
        changed = np.any(np.reshape(actual != other, (-1, 2, DIM)), axis=-1)
        assert changed[np.ravel(MASK)].all()


def test_a_state_that_is_passed_in_comes_before_the_start_state(plain, started):
    zero = started.zero_state(len(LENGTHS))
    found = started(BATCH, mask=MASK, initial_state=zero)
    for actual, wanted in zip(found, plain(BATCH, mask=MASK), strict=True):
        np.testing.assert_array_equal(actual, wanted)


def test_flat_sentences_are_read_from_the_start_state(plain, started):
    lengths = tf.constant(LENGTHS)
    flat = started.of_sentences(X, lengths)
    for actual, wanted in zip(flat, started(BATCH, mask=MASK), strict=True):
        np.testing.assert_allclose(actual, tf.boolean_mask(wanted, MASK), atol=1e-6)
    started.assign_start_state(0 * OUTPUT, 0 * CELL)
    both = started.of_sentences(X, lengths), plain.of_sentences(X, lengths)
    for actual, wanted in zip(*both, strict=True):
        np.testing.assert_array_equal(actual, wanted)


def test_training_leaves_the_start_state_as_it_is(started):
    assert len(started.weights) == len(started.trainable_weights) + 2
    started.trainable = False
    started.trainable = True
    assert len(started.weights) == len(started.trainable_weights) + 2


def test_values_of_another_shape_are_refused(started):
    with pytest.raises(ValueError, match="shape"):
        started.assign_start_state(OUTPUT, CELL[:1])
