"""LSTMs in compiled runs of steps, against the same LSTMs step by step."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import BidirectionalLSTM
from elmo_keras.layers.compiled_runs import (
    MOST_ROWS,
    _steps,
    kind_of,
    most_steps,
    runs_of,
)
from elmo_keras.layers.lstm_cell import Clips, State, Weights
from tests.support.models import assert_all_close, built

DIM, UNITS, PROJECTION = 3, 5, 3
LENGTHS = {  # rows of the steps
    "nine and five, then four, and one in two runs": [2, 38, 4, 2, 2, 4, 4, 3, 2],
    "three, then one in two runs": [37, 2, 2],
    "one": [3],
}


@pytest.fixture(scope="module")
def lstm():
    """Two layers whose clips are reached, with a start state."""
    lstm = BidirectionalLSTM(
        2, UNITS, PROJECTION, cell_clip=0.3, proj_clip=0.1, has_start_state=True
    )
    return built(lstm, DIM)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_outputs_are_those_of_single_steps(lstm, lengths):
    lengths = np.array(lengths, np.int32)
    x = np.random.default_rng(1).normal(size=(lengths.sum(), DIM)).astype(np.float32)
    expected = lstm.of_sentences(x, tf.constant(lengths))
    runs = runs_of(lengths)
    found = lstm.of_sentences(x, tf.constant(lengths), runs=runs)
    assert_all_close(found, expected)
    assert 0 < np.mean(np.abs(expected[0]) == np.float32(0.1)) < 1


def test_what_is_compiled_does_not_depend_on_the_lengths():
    rows = 2
    places = (most_steps(rows) + 1) * rows
    sizes = [(DIM, 4 * UNITS), (PROJECTION, 4 * UNITS), (4 * UNITS,)]
    weights = Weights(*map(tf.ones, [*sizes, (UNITS, PROJECTION)]))
    state = State(tf.zeros((rows, PROJECTION)), tf.zeros((rows, UNITS)))
    compiled = tf.function(
        lambda *inputs: _steps(
            *inputs, weights=weights, state=state, rows=rows, clips=Clips(3.0, 3.0)
        ),
        autograph=False,
        jit_compile=True,
    )

    def program(step_sizes):
        code = compiled.experimental_get_compiler_ir(
            tf.ones((places, 4 * UNITS)),
            tf.constant(np.resize(step_sizes, most_steps(rows)), tf.int32),
            tf.constant(len(step_sizes)),
        )
        return code(stage="hlo")

    assert program([2, 2, 1]) == program([1])


@pytest.mark.parametrize("n_sentences", [1, 2, 7, 100])
def test_runs_hold_each_step_of_few_rows_once(n_sentences):
    lengths = np.random.default_rng(n_sentences).integers(1, 90, n_sentences)
    runs = runs_of(lengths)
    table, sizes, places = (tensor.numpy() for tensor in runs.tensors)
    n_steps = lengths.max()
    assert [*sizes[:n_steps]] == [(lengths > step).sum() for step in range(n_steps)]
    steps, tokens = [], []
    for power, first, number, token, n_tokens in table:
        rows, some = 2**power, sizes[first : first + number]
        assert number <= most_steps(rows) and some.max() <= rows < 2 * some.min()
        steps += range(first, first + number)
        tokens += range(token, token + n_tokens)
        wanted = [rows * i + row for i, n in enumerate(some) for row in range(n)]
        assert [*places[token : token + n_tokens]] == wanted
    n_larger = (sizes > MOST_ROWS).sum()
    assert steps == [*range(n_larger, n_steps)]
    assert tokens == [*range(sizes[:n_larger].sum(), lengths.sum())]
    assert runs.rows == 2 ** table[0, 0] and runs.kind == kind_of(n_sentences)


def test_sentences_that_end_together_have_no_runs():
    assert len(runs_of(np.full(MOST_ROWS + 1, 5)).table) == 0
