"""The recurrence of an LSTM with projection over packed tokens.

At each step, for the rows that still have a token (`packing.Packing`):

    i, j, f, o = x W + h R + b
    c' = clip(sigmoid(f) · c + sigmoid(i) · tanh(j))
    h' = clip((sigmoid(o) · tanh(c')) P)

x W + b does not depend on the step before: it is one matrix product for many
steps, in pieces of bounded size.

Reference: Sak et al. 2014; gates and clips in the order of TensorFlow 1's
`LSTMCell`, which the published weights were trained with.
"""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.layers.panels import product

# How many numbers of x W + b are held at once: 128 MiB in float32.
PIECE_SIZE = 2**25

HOST = "CPU:0"  # computes how the work is divided, even if a GPU does the work


class Weights(NamedTuple):
    """Weights of one LSTM layer in one direction.

    `kernel` (in, 4 · units) and, in panels, `recurrent_kernel` (projection,
    4 · units) and `projection_kernel` (units, projection) in the compute dtype,
    `bias` (4 · units) in the dtype of the cell state, with the forget gate's bias.
    """

    kernel: tf.Tensor
    recurrent_kernel: tf.Tensor
    bias: tf.Tensor
    projection_kernel: tf.Tensor


class State(NamedTuple):
    """The LSTM state: `output` (rows, projection), `cell` (rows, units)."""

    output: tf.Tensor
    cell: tf.Tensor


class Clips(NamedTuple):
    """Bounds of the absolute cell state and of the absolute output, or None."""

    cell: float | None
    output: float | None


class Activations(NamedTuple):
    """The activations that the gradient needs."""

    gates: tf.Tensor  # (tokens, 4 · units), after sigmoid and tanh
    cells: tf.Tensor  # (tokens, units), clipped


def cell_dtype(compute_dtype: str) -> str:
    """The dtype of cell state and gates: at least float32."""
    return "float64" if compute_dtype == "float64" else "float32"


class Steps:
    """Slices of packed tokens and of the rows' state, step by step.

    Args:
        sizes: int32 (steps,), the number of rows of each step, never rising.
    """

    def __init__(self, sizes):
        self.sizes = sizes
        self.number = tf.size(sizes)
        with tf.device(HOST):
            self.ends = tf.cumsum(sizes)
        self.starts = self.ends - sizes
        self.next_sizes = tf.concat([sizes[1:], [0]], axis=0)

    def start(self, step):
        """The index of the step's first packed token: (1,)."""
        return number_at(self.starts, step)

    def of(self, tokens, step, first=0):
        """The step's rows of packed `tokens`, whose first row is token `first`."""
        start = self.start(step) - first
        return rows_of(tokens, start, number_at(self.sizes, step))

    def ending(self, state, step):
        """The rows of `state` whose last step this is."""
        first = number_at(self.next_sizes, step)
        number = number_at(self.sizes, step) - first
        return State(*(rows_of(part, first, number) for part in state))

    def continuing(self, state, step):
        """The rows of `state` that have another step."""
        number = number_at(self.next_sizes, step)
        return State(*(rows_of(part, [0], number) for part in state))

    def array(self, dtype, width):
        """A TensorArray with one value (rows, width) for each step."""
        shape = (None, width)
        return tf.TensorArray(
            dtype, self.number, element_shape=shape, infer_shape=False
        )


def number_at(numbers, step):
    """The number with this index: (1,)."""
    # With a GPU, integers are sliced on the host, where the next slice needs them. A
    # gather would run on the device, and each step would wait for a copy.
    return tf.slice(numbers, tf.reshape(step, [1]), [1])


def rows_of(x, first, number):
    """`number` (1,) rows of a matrix from row `first` (1,) on."""
    # A plain Slice: indexing with brackets takes several more operations.
    rows = tf.slice(x, tf.concat([first, [0]], 0), tf.concat([number, [-1]], 0))
    return tf.ensure_shape(rows, (None, x.shape[1]))


def forward(x, sizes, weights, *, state, clips, keep_activations):
    """Runs one LSTM layer over packed tokens.

    Args:
        x: (tokens, in), packed.
        sizes: int32 (steps,), the number of rows of each step, never rising.
        weights: `Weights`.
        state: initial `State`, rows in packed order.
        clips: `Clips`.
        keep_activations: whether the `Activations` are returned as well.

    Returns:
        Outputs (tokens, projection), the `State` after the last token of each row,
        and the `Activations` or None.
    """
    steps = Steps(sizes)
    piece_ends = _piece_ends(steps, weights)

    def piece(step, rows, arrays):
        start, stop = steps.start(step), number_at(piece_ends, step)[0]
        length = number_at(steps.ends, stop - 1) - start
        gate_inputs = _gate_inputs(rows_of(x, start, length), weights)

        def one_step(step, rows, arrays):
            inputs = steps.of(gate_inputs, step, start)
            new, gates = _step(inputs, rows, weights, clips=clips)
            arrays = _written(arrays, steps, step, new=new, gates=gates)
            return step + 1, steps.continuing(new, step), arrays

        return tf.while_loop(lambda s, *_: s < stop, one_step, (step, rows, arrays))

    n_rows = tf.reduce_sum(sizes[:1])  # rows of the first step; others have no token
    rows = State(*(rows_of(part, [0], n_rows[None]) for part in state))
    arrays = _arrays(steps, weights, state.output, keep_activations=keep_activations)
    _, _, arrays = tf.while_loop(
        lambda s, *_: s < steps.number,
        piece,
        (0, rows, arrays),
        parallel_iterations=1,  # the next piece is not computed ahead
    )
    packed = {name: array.concat() for name, array in arrays.items()}
    last = zip((packed["last_outputs"], packed["last_cells"]), state)
    last = State(*(tf.concat([ended, part[n_rows:]], 0) for ended, part in last))
    kept = Activations(packed["gates"], packed["cells"]) if keep_activations else None
    return packed["outputs"], last, kept


def _piece_ends(steps, weights):
    """For each step, the end of a piece that starts with it, of at least one step."""
    limits = steps.starts + PIECE_SIZE // weights.kernel.shape[1]
    with tf.device(HOST):
        ends = tf.searchsorted(steps.ends, limits, side="right")
    return tf.maximum(ends, tf.range(steps.number) + 1)


def _gate_inputs(x, weights):
    bias = weights.bias
    return tf.nn.bias_add(tf.cast(tf.matmul(x, weights.kernel), bias.dtype), bias)


def _arrays(steps, weights, output, *, keep_activations):
    dtype, projection_dim = output.dtype, output.shape[1]
    units = weights.kernel.shape[1] // 4
    cell = weights.bias.dtype
    arrays = {
        "outputs": steps.array(dtype, projection_dim),
        "last_outputs": steps.array(dtype, projection_dim),
        "last_cells": steps.array(cell, units),
    }
    if keep_activations:
        arrays["gates"] = steps.array(cell, 4 * units)
        arrays["cells"] = steps.array(cell, units)
    return arrays


def _written(arrays, steps, step, *, new, gates):
    last = steps.ending(new, step)
    values = {"outputs": new.output, "gates": gates, "cells": new.cell}
    lasts = {"last_outputs": last.output, "last_cells": last.cell}
    # From the last step to the first: the rows that end last come first.
    from_the_end = steps.number - 1 - step
    return {
        name: array.write(from_the_end, lasts[name])
        if name in lasts
        else array.write(step, values[name])
        for name, array in arrays.items()
    }


def _step(gate_inputs, state, weights, *, clips):
    recurrent = product(state.output, weights.recurrent_kernel)
    gate_inputs += tf.cast(recurrent, gate_inputs.dtype)
    i, j, f, o = tf.split(gate_inputs, 4, axis=1)
    i, j, f, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f), tf.sigmoid(o)
    cell = clip(f * state.cell + i * j, clips.cell)
    hidden = tf.cast(o * tf.tanh(cell), state.output.dtype)
    output = clip(product(hidden, weights.projection_kernel), clips.output)
    return State(output, cell), tf.concat([i, j, f, o], axis=1)


def clip(x, bound):
    if bound is None:
        return x
    # One operation where `tf.clip_by_value` takes two.
    bound = tf.constant(bound, x.dtype)
    return tf.raw_ops.ClipByValue(t=x, clip_value_min=-bound, clip_value_max=bound)
