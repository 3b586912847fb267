"""Sentences that are read from a start state, against a state that is passed in."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import BidirectionalLSTM
from tests.support.models import randomize

LENGTHS = np.array([3, 1, 5], np.int32)
N_LAYERS, UNITS, DIM = 2, 7, 5
RNG = np.random.default_rng(0)
X = tf.constant(RNG.normal(size=(LENGTHS.sum(), DIM)), tf.float32)
OUTPUT = RNG.normal(size=(2, N_LAYERS, DIM)).astype("float32")
CELL = RNG.normal(size=(2, N_LAYERS, UNITS)).astype("float32")


def made(**kwargs):
    lstm = BidirectionalLSTM(N_LAYERS, UNITS, DIM, **kwargs)
    lstm.build((None, None, DIM))
    return randomize(lstm)


@pytest.fixture(scope="module")
def plain():
    return made()


@pytest.fixture
def started(plain):
    lstm = made(has_start_state=True)
    for weight, value in zip(lstm.trainable_weights, plain.get_weights(), strict=True):
        weight.assign(value)
    lstm.assign_start_state(OUTPUT, CELL)
    return lstm


def padded():
    """The sentences as a batch, and its mask."""
    ragged = tf.RaggedTensor.from_row_lengths(X, LENGTHS)
    return ragged.to_tensor(), tf.sequence_mask(LENGTHS)


def passed_in():
    """The start state as `initial_state` of a batch."""
    return [
        [
            tuple(
                np.repeat(part[d, j][None], len(LENGTHS), 0) for part in (OUTPUT, CELL)
            )
            for j in range(N_LAYERS)
        ]
        for d in range(2)
    ]


def test_each_row_is_read_from_the_start_state(plain, started):
    inputs, mask = padded()
    expected = plain(inputs, mask=mask, initial_state=passed_in())
    zero = plain(inputs, mask=mask)
    for actual, wanted, other in zip(started(inputs, mask=mask), expected, zero):
        np.testing.assert_array_equal(actual, wanted)
        # Both halves of each sentence's outputs depend on it.
        changed = np.any(np.reshape(actual != other, (-1, 2, DIM)), axis=-1)
        assert changed[np.ravel(mask)].all()


def test_a_state_that_is_passed_in_comes_before_the_start_state(plain, started):
    zero = started.zero_state(len(LENGTHS))
    inputs, mask = padded()
    for actual, wanted in zip(
        started(inputs, mask=mask, initial_state=zero), plain(inputs, mask=mask)
    ):
        np.testing.assert_array_equal(actual, wanted)


def test_flat_sentences_are_read_from_the_start_state(started):
    inputs, mask = padded()
    flat = started.of_sentences(X, tf.constant(LENGTHS))
    for actual, wanted in zip(flat, started(inputs, mask=mask), strict=True):
        wanted = tf.boolean_mask(wanted, mask)
        np.testing.assert_allclose(actual, wanted, atol=1e-6)


def test_a_start_state_of_zeros_changes_nothing(plain, started):
    started.assign_start_state(0 * OUTPUT, 0 * CELL)
    lengths = tf.constant(LENGTHS)
    for actual, wanted in zip(
        started.of_sentences(X, lengths), plain.of_sentences(X, lengths), strict=True
    ):
        np.testing.assert_array_equal(actual, wanted)


def test_training_leaves_the_start_state_as_it_is(started):
    assert len(started.weights) == len(started.trainable_weights) + 2
    started.trainable = False
    started.trainable = True
    assert len(started.weights) == len(started.trainable_weights) + 2


def test_values_of_another_shape_are_refused(started):
    with pytest.raises(ValueError, match="shape"):
        started.assign_start_state(OUTPUT, CELL[:1])
