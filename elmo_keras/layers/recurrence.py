"""The recurrence of an LSTM with projection over packed tokens, and its gradient.

For each step, with the rows that still have a token (`Packing`):

    i, j, f, o = x W + h R + b          (f: forget bias 1.0 added here)
    c' = clip(sigmoid(f) · c + sigmoid(i) · tanh(j))
    h' = clip((sigmoid(o) · tanh(c')) P)

The part x W + b needs no recurrence: it is one matrix product for many steps,
in pieces of bounded size. The gradient is written out because that of a
`tf.while_loop` adds up weight gradients step by step, where one matrix product
over all tokens does.

Reference: Sak et al. 2014; gates and clips in the order of TensorFlow 1's
`LSTMCell`, which the published weights were trained with.
"""

import functools
from typing import NamedTuple

import tensorflow as tf

# Gate inputs held at once, in numbers: 128 MiB in float32.
PIECE_SIZE = 2**25


class Weights(NamedTuple):
    """Weights of one LSTM layer in one direction.

    `kernel` (in, 4 · units), `recurrent_kernel` (projection, 4 · units) and
    `projection_kernel` (units, projection) in the compute dtype, `bias`
    (4 · units) in that of the cell state.
    """

    kernel: tf.Tensor
    recurrent_kernel: tf.Tensor
    bias: tf.Tensor
    projection_kernel: tf.Tensor


class State(NamedTuple):
    """LSTM state: `output` (rows, projection), `cell` (rows, units)."""

    output: tf.Tensor
    cell: tf.Tensor


class Clips(NamedTuple):
    """Bounds of the absolute cell state and of the absolute output, or None."""

    cell: float | None
    output: float | None


class Activations(NamedTuple):
    """What the gradient needs of every token."""

    gates: tf.Tensor  # (tokens, 4 · units), behind sigmoid and tanh
    cells: tf.Tensor  # (tokens, units), clipped


def cell_dtype(compute_dtype: str) -> str:
    """The dtype of cell state and gates: never less than float32."""
    return "float64" if compute_dtype == "float64" else "float32"


@functools.cache
def graph(dim, units, projection_dim, compute_dtype, clips, keep_activations):
    """`projected_lstm` as a graph, one for all layers of these sizes.

    Outside of a graph it is fast, and traced once; within one it is inlined.
    """

    def spec(*shape, dtype=compute_dtype):
        return tf.TensorSpec(shape, dtype)

    def run(x, sizes, weights, state):
        return projected_lstm(x, sizes, weights, state, clips, keep_activations)

    cell = cell_dtype(compute_dtype)
    weights = Weights(
        spec(dim, 4 * units),
        spec(projection_dim, 4 * units),
        spec(4 * units, dtype=cell),
        spec(units, projection_dim),
    )
    state = State(spec(None, projection_dim), spec(None, units, dtype=cell))
    signature = [spec(None, dim), spec(None, dtype="int32"), weights, state]
    return tf.function(run, input_signature=signature, autograph=False)


def projected_lstm(x, sizes, weights, state, clips, keep_activations):
    """Runs one LSTM layer over packed tokens.

    Args:
        x: (tokens, in), packed.
        sizes: int32 (steps,), the rows of each step, never rising.
        weights: `Weights`.
        state: `State` at the start, rows in packed order.
        clips: `Clips`.
        keep_activations: whether to keep what the gradient needs (5 · units
            numbers a token). Without it a gradient is the same, but runs the
            recurrence once more, and otherwise memory is bounded.

    Returns:
        Outputs (tokens, projection) and the `State` of each row at its end.
    """

    @tf.custom_gradient
    def run(x, *flat):
        weights, state = Weights(*flat[:4]), State(*flat[4:])
        forward = _forward(x, sizes, weights, state, clips, keep_activations)
        outputs, last, kept = forward

        def gradient(d_outputs, d_output, d_cell):
            activations = kept
            if activations is None:
                activations = _forward(x, sizes, weights, state, clips, True)[2]
            upstream = d_outputs, State(d_output, d_cell)
            return _backward(
                x, sizes, weights, state, clips, outputs, activations, upstream
            )

        return (outputs, *last), gradient

    outputs, output, cell = run(x, *weights, *state)
    return outputs, State(output, cell)


def _forward(x, sizes, weights, state, clips, keep):
    units, dim = weights.projection_kernel.shape
    steps, ends = tf.size(sizes), tf.cumsum(sizes)
    next_sizes = tf.concat([sizes[1:], [0]], axis=0)
    tokens_at_once = tf.constant(PIECE_SIZE // (4 * units))
    bias = _with_forget_bias(weights.bias)
    started = tf.gather(tf.concat([sizes, [0]], axis=0), 0)

    def array(dtype, width):
        return tf.TensorArray(
            dtype, steps, element_shape=(None, width), infer_shape=False
        )

    # Rows that end at a step, in a State of arrays; the last step's come first.
    ended = State(array(x.dtype, dim), array(bias.dtype, units))
    kept = {"outputs": array(x.dtype, dim)}
    if keep:
        kept["gates"] = array(bias.dtype, 4 * units)
        kept["cells"] = array(bias.dtype, units)

    def piece(step, rows, ended, kept):
        start = tf.gather(ends, step) - tf.gather(sizes, step)
        # As many steps as fit, but one at least.
        fit = tf.searchsorted(ends, [start + tokens_at_once], side="right")[0]
        stop = tf.maximum(fit, step + 1)
        x_w = tf.matmul(x[start : tf.gather(ends, stop - 1)], weights.kernel)
        x_w = tf.cast(x_w, bias.dtype) + bias

        def one_step(step, rows, ended, kept):
            size, next_size = tf.gather(sizes, step), tf.gather(next_sizes, step)
            first = tf.gather(ends, step) - size - start
            new, gates = _step(_rows(x_w, first, size), rows, weights, clips)
            values = {"outputs": new.output, "gates": gates, "cells": new.cell}
            kept = {name: ta.write(step, values[name]) for name, ta in kept.items()}
            over = State(*(_rows(part, next_size, size - next_size) for part in new))
            ended = State(*map(_writer(steps - 1 - step), ended, over))
            rows = State(*(_rows(part, 0, next_size) for part in new))
            return step + 1, rows, ended, kept

        return tf.while_loop(
            lambda step, *_: step < stop, one_step, (step, rows, ended, kept)
        )

    rows = State(*(_rows(part, 0, started) for part in state))
    _, _, ended, kept = tf.while_loop(
        lambda step, *_: step < steps,
        piece,
        (0, rows, ended, kept),
        parallel_iterations=1,
    )
    last = State(
        *(
            tf.concat([array.concat(), part[started:]], axis=0)
            for array, part in zip(ended, state)
        )
    )
    kept = {name: array.concat() for name, array in kept.items()}
    outputs = kept.pop("outputs")
    return outputs, last, Activations(**kept) if keep else None


def _rows(x, first, number):
    """Rows of a matrix, their number unknown to the graph."""
    # A plain Slice: indexing with brackets takes several operations more.
    rows = tf.slice(x, tf.stack([first, 0]), tf.stack([number, -1]))
    return tf.ensure_shape(rows, (None, x.shape[1]))


def _writer(index):
    return lambda array, value: array.write(index, value)


def _with_forget_bias(bias):
    # The file holds the bias without the forget gate's 1.0: TF 1 added it at run time.
    forget = tf.constant([0.0, 0.0, 1.0, 0.0], bias.dtype)
    return bias + tf.repeat(forget, bias.shape[0] // 4)


def _clip(x, bound):
    if bound is None:
        return x
    # One operation where `tf.clip_by_value` takes two.
    bound = tf.constant(bound, x.dtype)
    return tf.raw_ops.ClipByValue(t=x, clip_value_min=-bound, clip_value_max=bound)


def _step(gate_inputs, state, weights, clips):
    recurrent = tf.matmul(state.output, weights.recurrent_kernel)
    gate_inputs += tf.cast(recurrent, gate_inputs.dtype)
    i, j, f, o = tf.split(gate_inputs, 4, axis=1)
    i, j, f, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f), tf.sigmoid(o)
    cell = _clip(f * state.cell + i * j, clips.cell)
    hidden = tf.cast(o * tf.tanh(cell), state.output.dtype)
    output = _clip(tf.matmul(hidden, weights.projection_kernel), clips.output)
    return State(output, cell), tf.concat([i, j, f, o], axis=1)


def _backward(x, sizes, weights, state, clips, outputs, activations, upstream):
    d_outputs, d_last = upstream
    units = weights.projection_kernel.shape[0]
    outputs_before, cells_before = _before(sizes, state, (outputs, activations.cells))
    factors = _factors(activations, cells_before, clips.cell)
    unclipped = _unclipped(outputs, clips.output)
    steps, ends = tf.size(sizes), tf.cumsum(sizes)
    next_sizes = tf.concat([sizes[1:], [0]], axis=0)

    def array(width):
        shape = (None, width)
        return tf.TensorArray(x.dtype, steps, element_shape=shape, infer_shape=False)

    def one_step(step, d_rows, d_gates, d_projected):
        step -= 1
        size, next_size = tf.gather(sizes, step), tf.gather(next_sizes, step)

        def now(tokens):
            return _rows(tokens, tf.gather(ends, step) - size, size)

        # Rows that end at this step join those that go on.
        over = State(*(_rows(part, next_size, size - next_size) for part in d_last))
        d_rows = State(*(tf.concat(parts, axis=0) for parts in zip(d_rows, over)))
        d_output = (d_rows.output + now(d_outputs)) * now(unclipped)
        d_hidden = tf.matmul(d_output, weights.projection_kernel, transpose_b=True)
        d_gate, d_cell = _step_gradient(d_hidden, d_rows.cell, now(factors))
        d_gate = tf.cast(d_gate, x.dtype)
        d_output_before = tf.matmul(d_gate, weights.recurrent_kernel, transpose_b=True)
        return (
            step,
            State(d_output_before, d_cell),
            d_gates.write(step, d_gate),
            d_projected.write(step, d_output),
        )

    nothing = 0 * tf.reduce_sum(sizes)  # a 0 that the graph does not see through
    none = State(*(_rows(part, 0, nothing) for part in d_last))
    _, d_rows, d_gates, d_projected = tf.while_loop(
        lambda step, *_: step > 0,
        one_step,
        (steps, none, array(4 * units), array(outputs.shape[1])),
    )
    never = [part[tf.shape(rows)[0] :] for part, rows in zip(d_last, d_rows)]
    d_state = [tf.concat(parts, axis=0) for parts in zip(d_rows, never)]
    d_gates, d_projected = d_gates.concat(), d_projected.concat()
    hidden = activations.gates[:, 3 * units :] * tf.tanh(activations.cells)
    return (
        tf.matmul(d_gates, weights.kernel, transpose_b=True),
        tf.matmul(x, d_gates, transpose_a=True),
        tf.matmul(outputs_before, d_gates, transpose_a=True),
        tf.reduce_sum(tf.cast(d_gates, weights.bias.dtype), axis=0),
        tf.matmul(tf.cast(hidden, x.dtype), d_projected, transpose_a=True),
        *d_state,
    )


def _before(sizes, first, packed):
    """For each packed token its row's value one step before, at first `first`'s."""
    rows, steps = tf.shape(first.cell)[0], tf.size(sizes)
    step = tf.repeat(tf.range(steps), sizes)  # (tokens,)
    # Behind the `rows` first values, the step before starts as much earlier as
    # that step is long.
    earlier = tf.concat([[rows], sizes], axis=0)[:steps]
    place = tf.range(tf.size(step)) + rows - tf.gather(earlier, step)
    return [
        tf.gather(tf.concat([start, x], 0), place) for start, x in zip(first, packed)
    ]


def _factors(activations, cells_before, cell_clip):
    """All that a step's gradient is multiplied with: (tokens, 7 · units).

    Computed for all tokens at once, so that a step has little left to do.
    """
    i, j, f, o = tf.split(activations.gates, 4, axis=1)
    tanh_cell = tf.tanh(activations.cells)
    unclipped = _unclipped(activations.cells, cell_clip)
    factors = [
        j * i * (1 - i),  # cell → i, j, f, and hidden → o
        i * (1 - tf.square(j)),
        cells_before * f * (1 - f),
        tanh_cell * o * (1 - o),
        unclipped * o * (1 - tf.square(tanh_cell)),  # hidden → cell
        unclipped,  # clipped cell → cell
        f,  # cell → cell before
    ]
    return tf.concat(factors, axis=1)


def _unclipped(clipped, bound):
    """1.0 where a clip left the value alone, 0.0 where the bound was reached."""
    if bound is None:
        return tf.ones_like(clipped)
    return tf.cast(tf.abs(clipped) < tf.constant(bound, clipped.dtype), clipped.dtype)


def _step_gradient(d_hidden, d_cell, factors):
    """Gradients to the gate inputs and to the cell state before."""
    units = d_cell.shape[1]
    to_gates, of_hidden, of_cell, to_before = tf.split(
        factors, [4 * units, units, units, units], axis=1
    )
    d_hidden = tf.cast(d_hidden, d_cell.dtype)
    d_cell = of_cell * d_cell + of_hidden * d_hidden
    d_gates = to_gates * tf.concat([d_cell, d_cell, d_cell, d_hidden], axis=1)
    return d_gates, to_before * d_cell
