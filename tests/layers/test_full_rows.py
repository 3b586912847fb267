"""Rows that have a token at every step, against the same tokens read one by one."""

from functools import partial

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import BidirectionalLSTM, ProjectedLSTM
from tests.support.models import assert_all_close, built, with_gradients

ROWS, TIME, DIM, UNITS, PROJECTION = 5, 6, 3, 4, 2
SHAPES = (ROWS, TIME, DIM), (ROWS, PROJECTION), (ROWS, UNITS)
PATTERNS = {
    "none": np.zeros((ROWS, TIME), bool),
    "all": np.ones((ROWS, TIME), bool),
    "some": np.random.default_rng(1).random((ROWS, TIME)) < 0.3,
}
CASES = [(None, None, PROJECTION), (0.3, 0.1, PROJECTION), (0.3, 0.1, None)]


def layer_of(cell_clip, proj_clip, dtype="float32", projection_dim=PROJECTION):
    clips = {"cell_clip": cell_clip, "proj_clip": proj_clip}
    lstm = ProjectedLSTM(UNITS, projection_dim, **clips, return_state=True, dtype=dtype)
    return built(lstm, DIM)


@pytest.fixture(scope="module")
def rows():
    """Inputs of rows and the state that they continue from."""
    return random_rows(SHAPES)


def random_rows(shapes):
    rng = np.random.default_rng(0)
    return [tf.constant(rng.normal(size=shape), tf.float32) for shape in shapes]


def at_once(lstm, x, state, from_zero):
    continuing = tf.constant(1.0 - from_zero.T[..., None], tf.float32)
    tokens = tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, DIM])
    outputs, state = lstm.call_rows(tokens, continuing, state)
    outputs = tf.reshape(outputs, [TIME, ROWS, lstm.output_dim])
    return tf.transpose(outputs, [1, 0, 2]), state


def one_by_one(lstm, x, state, from_zero):
    outputs = []
    for t in range(TIME):
        zero = tf.constant(from_zero[:, t, None])
        state = [tf.where(zero, tf.zeros_like(part), part) for part in state]
        output, state = lstm(x[:, t : t + 1], initial_state=state, training=True)
        outputs.append(output)
    return tf.concat(outputs, axis=1), state


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_outputs_state_and_gradients_are_those_of_single_tokens(pattern, case):
    cell_clip, proj_clip, projection = case
    lstm = layer_of(cell_clip, proj_clip, projection_dim=projection)
    rows = random_rows([SHAPES[0], (ROWS, lstm.output_dim), SHAPES[2]])
    x, *state = rows
    watched = [*rows, *(w.value for w in lstm.trainable_weights)]
    actual, expected = (
        with_gradients(partial(read, lstm, x, state, PATTERNS[pattern]), watched)
        for read in (at_once, one_by_one)
    )
    assert_all_close(actual, expected, atol=3e-6)
    outputs, _, cells, *gradients = actual
    assert len(gradients) == 3 + (4 if projection else 3)
    if cell_clip is not None:  # clips are reached, that of outputs with a projection
        assert 0 < np.mean(np.abs(cells) == cell_clip) < 1
        clipped = np.mean(np.abs(outputs) == np.float32(proj_clip))
        assert 0 < clipped < 1 if projection else np.abs(outputs).max() > proj_clip


def test_half_precision_is_close_and_keeps_the_cell_state_in_float32(rows):
    from_zero, half = PATTERNS["some"], layer_of(3.0, 3.0, "mixed_bfloat16")
    full = layer_of(3.0, 3.0)
    full.set_weights(half.get_weights())
    x, *state = rows
    outputs, (output, cell) = at_once(half, x, state, from_zero)
    assert outputs.dtype == output.dtype == tf.bfloat16 and cell.dtype == tf.float32
    expected, _ = at_once(full, x, state, from_zero)
    # bfloat16 has 8 bits.
    np.testing.assert_allclose(tf.cast(outputs, tf.float32), expected, atol=0.03)


def test_stacked_layers_have_the_skips_of_packed_ones(rows):
    lstm = built(BidirectionalLSTM(2, UNITS, DIM), DIM).forward
    tokens = tf.reshape(tf.transpose(rows[0], [1, 0, 2]), [-1, DIM])
    state, sizes = lstm.zero_state(ROWS), tf.fill([TIME], ROWS)
    expected = lstm.call_packed(tokens, sizes, state, training=True)
    actual = lstm.call_rows(tokens, tf.ones((TIME, ROWS, 1)), state)
    assert_all_close(*map(tf.nest.flatten, (actual, expected)))


def test_dropout_keeps_its_share_of_each_input_and_of_the_output(rows):
    lstm = built(BidirectionalLSTM(1, UNITS, DIM, dropout=0.5), DIM).forward
    tokens, state = tf.ones((TIME * ROWS, DIM)), lstm.zero_state(ROWS)
    input_mask, output_mask = lstm.dropout_masks(TIME * ROWS, tf.constant([3, 4]))
    assert input_mask.shape == output_mask.shape == tokens.shape
    assert not np.array_equal(input_mask, output_mask)
    masks = [input_mask, tf.ones_like(output_mask)]
    continuing = tf.ones((TIME, ROWS, 1))
    dropped = tf.where(input_mask, 2 * tokens, 0.0)
    (expected,), _ = lstm.call_rows(dropped, continuing, state)
    (whole,), _ = lstm.call_rows(tokens, continuing, state, masks=masks)
    np.testing.assert_array_equal(whole, 2 * expected)
    masks[1] = output_mask
    (outputs,), _ = lstm.call_rows(tokens, continuing, state, masks=masks)
    np.testing.assert_array_equal(outputs, tf.where(output_mask, whole, 0.0))
