"""The recurrence of `recurrence` over runs of steps, each a function compiled by XLA.

With a few rows, a step's dozens of small operations take longer than its arithmetic. A
compiled run is one operation. The rows of packed sentences (`packing.Packing`) get fewer
as sentences end, and a compiled function needs shapes that don't vary: a run is a series
of steps whose numbers of rows are the same when they are rounded up to a power of two.
It is compiled once for each power of two, whatever the lengths of the sentences are.
"""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.layers.loops import rows_array
from elmo_keras.layers.lstm_cell import Clips, State, Weights, clip, fused_step
from elmo_keras.layers.recurrence import over_packed

POWERS = 3
MOST_ROWS = 2 ** (POWERS - 1)  # with more rows, nothing is gained
MOST_STEPS = 32


class Kind(NamedTuple):
    """What differs in graphs: `powers` above all runs'; whether larger steps come first."""

    powers: int
    larger_first: bool


SINGLE, FEW, MANY = Kind(1, False), Kind(POWERS, False), Kind(POWERS, True)


class Runs(NamedTuple):
    """The runs of a batch: its steps of at most `MOST_ROWS` rows, which are the last.

    A row of `table`: the power of two, the first step, the number of steps, the first
    packed token and the number of tokens. `places` is the index of each packed token in
    its run, if all steps have as many rows as the power of two.
    """

    table: tf.Tensor  # int32 (runs, 5)
    sizes: tf.Tensor  # int32 (steps + MOST_STEPS,), tokens of each step, and zeros
    places: tf.Tensor  # int32 (tokens,)
    kind: Kind

    @property
    def tensors(self) -> tuple[tf.Tensor, ...]:
        """All but the kind."""
        return self[:3]

    @property
    def rows(self) -> tf.Tensor:
        """The number of rows of the first run."""
        return tf.bitwise.left_shift(1, self.table[0, 0])


SIGNATURE = (  # of `Runs.tensors`
    tf.TensorSpec((None, 5), tf.int32),
    tf.TensorSpec((None,), tf.int32),
    tf.TensorSpec((None,), tf.int32),
)


def most_steps(rows: int) -> int:
    return min(MOST_STEPS, 64 // rows)


def kind_of(n_sentences: int) -> Kind:
    if n_sentences == 1:
        return SINGLE
    return FEW if n_sentences <= MOST_ROWS else MANY


def runs_of(lengths: np.ndarray) -> Runs:
    """The runs of sentences of `lengths` (sentences,), each 1 or more."""
    sizes = len(lengths) - np.cumsum(np.bincount(lengths))[:-1]  # rows of each step
    starts = np.cumsum(sizes) - sizes
    powers = np.ceil(np.log2(sizes)).astype(int)
    step = int(np.searchsorted(-sizes, -MOST_ROWS))  # sizes never rise
    table, places = [], [np.zeros(sizes[:step].sum(), int)]
    while step < len(sizes):
        end = np.searchsorted(-powers, -powers[step], side="right")
        rows = 2 ** powers[step]
        end = min(end, step + most_steps(rows))
        some = sizes[step:end]
        table.append((powers[step], step, len(some), starts[step], some.sum()))
        moved = rows * np.arange(len(some)) - (starts[step:end] - starts[step])
        places.append(np.arange(some.sum()) + np.repeat(moved, some))
        step = end
    table = np.reshape(table, (-1, 5))
    arrays = table, np.pad(sizes, (0, MOST_STEPS)), np.concatenate(places)
    tensors = (tf.constant(array, tf.int32) for array in arrays)
    return Runs(*tensors, kind_of(len(lengths)))


def over_runs(x, weights: Weights, state: State, clips: Clips, *, runs: Runs):
    """As `recurrence.over_packed`, but without a gradient; None as the state."""
    if runs.kind.larger_first:
        _, step, _, token, _ = tf.unstack(runs.table[0])
        sizes = runs.sizes[:step]
        larger, state = over_packed(
            x[:token], weights, state, clips, sizes=sizes, keep=False
        )
        state = State(*state)
    weights = weights.plain()

    def one_run(i, state, outputs):
        power, step, n_steps, token, n_tokens = tf.unstack(runs.table[i])
        products = tf.matmul(x[token : token + n_tokens], weights.kernel)

        def with_rows(rows):
            """Outputs and the last state; the compiled function has this many rows."""
            room = most_steps(rows)
            size = (room + 1) * rows
            padded = tf.pad(products, [[0, size - n_tokens], [0, 0]])
            outputs, last = _compiled(rows, clips=clips)(
                tf.ensure_shape(padded, (size, products.shape[1])),
                tf.slice(runs.sizes, [step], [room]),
                n_steps,
                weights=weights,
                state=State(
                    *(tf.ensure_shape(s[:rows], (rows, s.shape[1])) for s in state)
                ),
            )
            places = tf.slice(runs.places, [token], [n_tokens])
            return tf.gather(outputs, places), last

        branches = [functools.partial(with_rows, 2**p) for p in range(runs.kind.powers)]
        values, state = (
            branches[0]() if len(branches) == 1 else tf.switch_case(power, branches)
        )
        return i + 1, state, outputs.write(i, values)

    n_runs = tf.shape(runs.table)[0]
    outputs = rows_array(x.dtype, n_runs, state.output.shape[1])
    _, _, outputs = tf.while_loop(
        lambda i, *_: i < n_runs, one_run, (0, state, outputs), parallel_iterations=1
    )
    outputs = outputs.concat()
    if runs.kind.larger_first:
        outputs = tf.concat([larger, outputs], axis=0)
    return outputs, None


@functools.cache
def _compiled(rows, *, clips):
    return tf.function(
        functools.partial(_steps, rows=rows, clips=clips),
        autograph=False,
        jit_compile=True,
    )


def _steps(products, sizes, n_steps, *, weights, state, rows, clips):
    """Outputs (most steps · rows, projection) of a run from x W, and the last state."""
    units, width = weights.projection_kernel.shape
    room = sizes.shape[0]

    def one_step(step, first, state, outputs):
        # A slice that depended on `sizes` alone would be compiled for each value.
        inputs = tf.slice(products, [first, 0], [rows, 4 * units])
        recurrent = tf.matmul(state.output, weights.recurrent_kernel)
        _, cells, hidden = fused_step(
            inputs, recurrent, weights.bias, state.cell, clips.cell
        )
        output = clip(tf.matmul(hidden, weights.projection_kernel), clips.output)
        outputs = outputs.write(step, output)
        return step + 1, first + sizes[step], State(output, cells), outputs

    outputs = rows_array(products.dtype, room, width, rows=rows)
    *_, last, outputs = tf.while_loop(
        lambda step, *_: step < n_steps, one_step, (0, 0, state, outputs)
    )
    return tf.reshape(outputs.stack(), [room * rows, width]), last
