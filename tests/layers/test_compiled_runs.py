"""LSTMs in compiled runs of steps, against the same LSTMs step by step."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import BidirectionalLSTM
from elmo_keras.layers.compiled_runs import _steps
from elmo_keras.layers.recurrence import Clips, State, Weights
from elmo_keras.layers.row_runs import MOST_ROWS, SIGNATURE, Runs, most_steps, runs_of
from tests.support.models import randomize

DIM, UNITS, PROJECTION = 3, 5, 3
LENGTHS = np.array([2, 37, 3, 3, 2], np.int32)  # 5 rows, 3, and 1 in two runs


@pytest.fixture(scope="module")
def lstm():
    """Two layers whose clips are reached, with a start state."""
    lstm = BidirectionalLSTM(
        2, UNITS, PROJECTION, cell_clip=0.3, proj_clip=0.1, has_start_state=True
    )
    lstm.build((None, None, DIM))
    return randomize(lstm)


@pytest.fixture(scope="module")
def in_runs(lstm):
    signature = tf.TensorSpec((None, DIM)), tf.TensorSpec((None,), tf.int32)
    return tf.function(
        lambda x, lengths, *runs: lstm.of_sentences(x, lengths, runs=Runs(*runs, 4)),
        input_signature=[*signature, *SIGNATURE],
        autograph=False,
    )


@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS[1:2]], ids=["five", "one"])
def test_outputs_are_those_of_single_steps(lstm, in_runs, lengths):
    x = np.random.default_rng(1).normal(size=(lengths.sum(), DIM)).astype(np.float32)
    expected = lstm.of_sentences(x, tf.constant(lengths))
    found = in_runs(x, lengths, *runs_of(lengths, 4)[:3])
    for layer, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(layer, wanted, atol=1e-6)  # sums in another order
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


@pytest.mark.parametrize("n_sentences", [1, 2, 7, MOST_ROWS])
def test_runs_hold_each_step_once_and_fit_its_rows(n_sentences):
    lengths = np.random.default_rng(n_sentences).integers(1, 90, n_sentences)
    runs = runs_of(lengths, 8)
    table, sizes = runs.table.numpy(), runs.sizes.numpy()
    n_steps = lengths.max()
    assert [*sizes[:n_steps]] == [(lengths > step).sum() for step in range(n_steps)]
    steps, tokens = [], []
    for power, first, number, token, n_tokens in table:
        assert number <= most_steps(2**power)
        some = sizes[first : first + number]
        assert some.max() <= 2**power < 2 * some.min()
        steps += range(first, first + number)
        tokens += range(token, token + n_tokens)
        places = [
            2**power * step + row
            for step, size in enumerate(some)
            for row in range(size)
        ]
        assert [*runs.places.numpy()[token : token + n_tokens]] == places
    assert steps == [*range(n_steps)] and tokens == [*range(lengths.sum())]
    assert runs.rows == 2 ** table[0, 0]
