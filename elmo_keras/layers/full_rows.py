"""The recurrence over rows that have a token at every step, for training.

It is that of `recurrence`, with shapes that don't vary, and its gradient is written out
for the same reason as there.
"""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.layers.compiled import compiled
from elmo_keras.layers.lstm_cell import cell, cell_gradient
from elmo_keras.layers.recurrence import Clips, State, Weights, clip
from elmo_keras.layers.recurrence_gradient import not_clipped


class Kept(NamedTuple):
    """The activations that the gradient needs, an array of each with a value a step.

    `outputs` (rows, projection), `gates` (rows, 4 · units) after sigmoid and tanh, and
    `cells` (rows, units), whose first value is the initial state.
    """

    outputs: tf.TensorArray
    gates: tf.TensorArray
    cells: tf.TensorArray


def over_full_rows(x, continuing, weights: Weights, *, state: State, clips: Clips):
    """Runs one LSTM layer over rows without padding.

    Args:
        x: (steps · rows, in), step by step.
        continuing: (steps, rows, 1) in the dtype of the cell state, 0.0 where the row
            starts from the zero state and 1.0 elsewhere. Steps and rows are static.
        weights: `Weights`, with plain matrices instead of panels.
        state: initial `State`.
        clips: `Clips`.

    Returns:
        Outputs (steps · rows, projection) and the last `State`.
    """

    @tf.custom_gradient
    def run(x, *flat):
        weights, first = Weights(*flat[:4]), State(*flat[4:])
        first = State(*(tf.ensure_shape(s, (continuing.shape[1], None)) for s in first))
        last, kept = _forward(x, continuing, weights, state=first, clips=clips)
        outputs = kept.outputs.stack()  # (steps, rows, projection)

        def gradient(d_outputs, *d_last):
            upstream = tf.reshape(d_outputs, outputs.shape), State(*d_last)
            factors = continuing, not_clipped(outputs, clips.output)
            d_packed, d_first = _backward(
                weights, kept, upstream, factors=factors, clips=clips
            )
            before = tf.concat([first.output[None], outputs[:-1]], axis=0)
            before *= tf.cast(continuing, before.dtype)
            before = tf.reshape(before, [-1, before.shape[2]])
            return *_of_inputs(x, before, weights, d_packed=d_packed), *d_first

        return (tf.reshape(outputs, [-1, outputs.shape[2]]), *last), gradient

    outputs, *last = run(x, *weights, *state)
    return outputs, State(*last)


def _forward(x, continuing, weights, *, state, clips):
    """The last state, and the activations that the gradient needs."""
    n_steps, n_rows, _ = continuing.shape
    of_step = compiled(cell, bound=clips.cell)
    inputs = tf.reshape(tf.matmul(x, weights.kernel), [n_steps, n_rows, -1])

    def one_step(step, state, kept):
        going_on = continuing[step]
        output = state.output * tf.cast(going_on, x.dtype)
        gates, cells, hidden = of_step(
            (inputs[step], tf.matmul(output, weights.recurrent_kernel)),
            weights.bias,
            state.cell,
            continuing=going_on,
        )
        output = clip(tf.matmul(hidden, weights.projection_kernel), clips.output)
        places = step, step, step + 1
        kept = [a.write(*v) for a, *v in zip(kept, places, (output, gates, cells))]
        return step + 1, State(output, cells), Kept(*kept)

    units, projection_dim = weights.projection_kernel.shape
    kept = Kept(
        _array(n_steps, state.output, projection_dim),
        _array(n_steps, state.cell, 4 * units),
        _array(n_steps + 1, state.cell, units).write(0, state.cell),
    )
    _, last, kept = tf.while_loop(
        lambda step, *_: step < n_steps, one_step, (0, state, kept)
    )
    return last, kept


def _array(length, like, width):
    """An array of values (rows, width) with the dtype of `like`."""
    shape = (like.shape[0], width)
    return tf.TensorArray(
        like.dtype, length, element_shape=shape, clear_after_read=False
    )


def _backward(weights, kept, upstream, *, factors, clips):
    """Goes from the last step to the first.

    Args:
        weights, clips: as in `over_full_rows`.
        kept: `Kept`.
        upstream: gradients with respect to the outputs (steps, rows, projection) and
            the last state.
        factors: `continuing`, and 1.0 where outputs were not clipped, else 0.0.

    Returns:
        Gradients with respect to the unclipped outputs, the values that they are
        projected from, and gradients with respect to the gates' inputs, each (steps ·
        rows, …); and gradients with respect to the initial state.
    """
    (d_outputs, d_last), (continuing, unclipped) = upstream, factors
    n_steps = continuing.shape[0]
    of_step = compiled(cell_gradient, bound=clips.cell)
    _, recurrent_kernel, _, projection_kernel = map(tf.transpose, weights)

    def one_step(step, d_state, arrays):
        step -= 1
        going_on = continuing[step]
        d_output = (d_state.output + d_outputs[step]) * unclipped[step]
        d_gates, d_cell, hidden = of_step(
            tf.matmul(d_output, projection_kernel),
            d_state.cell,
            kept.gates.read(step),
            states=(kept.cells.read(step + 1), kept.cells.read(step)),
            continuing=going_on,
        )
        d_before = tf.matmul(d_gates, recurrent_kernel)
        d_before *= tf.cast(going_on, d_before.dtype)
        values = zip(arrays, (d_output, hidden, d_gates))
        arrays = tuple(array.write(step, value) for array, value in values)
        return step, State(d_before, d_cell), arrays

    units, projection_dim = weights.projection_kernel.shape
    widths = projection_dim, units, 4 * units
    arrays = tuple(_array(n_steps, d_last.output, width) for width in widths)
    _, d_first, arrays = tf.while_loop(
        lambda step, *_: step > 0, one_step, (n_steps, d_last, arrays)
    )
    return [tf.reshape(a.stack(), [-1, w]) for a, w in zip(arrays, widths)], d_first


def _of_inputs(x, before, weights, *, d_packed):
    """Gradients with respect to x and the weights, one matrix product for each."""
    d_projected, hidden, d_gates = d_packed
    ones = tf.ones_like(x[:, :1])
    inputs = tf.concat([x, before, ones], axis=1)
    d_weights = tf.matmul(inputs, d_gates, transpose_a=True)
    d_kernel, d_recurrent, d_bias = tf.split(
        d_weights, [x.shape[1], before.shape[1], 1], axis=0
    )
    return (
        tf.matmul(d_gates, tf.transpose(weights.kernel)),
        d_kernel,
        d_recurrent,
        tf.cast(d_bias[0], weights.bias.dtype),
        tf.matmul(hidden, d_projected, transpose_a=True),
    )
