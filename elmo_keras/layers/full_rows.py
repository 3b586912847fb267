"""The recurrence over rows with a token at every step, for training: static shapes."""

import tensorflow as tf

from elmo_keras.layers import lstm_cell
from elmo_keras.layers.loops import compiled, rows_array, write_all
from elmo_keras.layers.lstm_cell import Clips, State, Weights


def over_full_rows(x, weights: Weights, state: State, clips: Clips, *, continuing):
    """One LSTM layer over rows without padding: outputs like x, and the last state.

    `x` is (steps · rows, in), step by step. `continuing` (steps, rows, 1) is 0.0 where a
    row starts from the zero state and 1.0 elsewhere; steps and rows are static.
    """
    continuing = tf.cast(continuing, state.cell.dtype)
    weights = weights.unblock()
    flat_weights = [weight for weight in weights if weight is not None]

    @tf.custom_gradient
    def run(x, *flat):
        weights = Weights(*flat[:-2])
        shape = continuing.shape[1], None
        first = State(*(tf.ensure_shape(part, shape) for part in flat[-2:]))
        last, outputs, gates, cells = _forward(x, continuing, weights, first, clips)

        def gradient(d_outputs, *d_last):
            d_projected, hidden, d_gates, d_first = _backward(
                weights,
                continuing,
                clips.cell,
                gates=gates,
                cells=cells,
                unclipped=lstm_cell.not_clipped(outputs, clips.output),
                d_outputs=tf.reshape(d_outputs, outputs.shape),
                d_last=State(*d_last),
            )
            before = tf.concat([first.output[None], outputs[:-1]], axis=0)
            before *= tf.cast(continuing, before.dtype)
            before = tf.reshape(before, [-1, before.shape[2]])
            # One matrix product for the gradients of all weights of the gates.
            inputs = tf.concat([x, before, tf.ones_like(x[:, :1])], axis=1)
            d_kernel, d_recurrent, d_bias = tf.split(
                tf.matmul(inputs, d_gates, transpose_a=True),
                [x.shape[1], before.shape[1], 1],  # pyright: ignore[reportArgumentType]
                axis=0,
            )
            d_x = tf.matmul(d_gates, tf.transpose(weights.kernel))
            d_bias = tf.cast(d_bias[0], weights.bias.dtype)
            d_weights = [d_kernel, d_recurrent, d_bias]
            if weights.projection_kernel is not None:
                d_weights.append(tf.matmul(hidden, d_projected, transpose_a=True))
            return d_x, *d_weights, *d_first

        return (tf.reshape(outputs, [-1, outputs.shape[2]]), *last), gradient

    outputs, *last = run(x, *flat_weights, *state)
    return outputs, tuple(last)


def _forward(x, continuing, weights, state, clips):
    """The last state, outputs, and arrays of gates and cell states, the first included."""
    n_steps, n_rows, _ = continuing.shape
    step_function = compiled(_step, bound=clips.cell)
    inputs = tf.reshape(tf.matmul(x, weights.kernel), [n_steps, n_rows, -1])

    def one_step(step, state, arrays):
        output = state.output * tf.cast(continuing[step], x.dtype)
        recurrent = tf.matmul(output, weights.recurrent_kernel)
        gates, cells, hidden = step_function(
            inputs[step], recurrent, weights.bias, state.cell, continuing[step]
        )
        if weights.projection_kernel is not None:
            hidden = tf.matmul(hidden, weights.projection_kernel)
        state = State(lstm_cell.clip(hidden, clips.output), cells)
        values = state.output, gates, cells
        return step + 1, state, write_all(arrays, (step, step, step + 1), values)

    def array(part, width, length=n_steps):
        return rows_array(part.dtype, length, width, rows=n_rows, read=True)

    projection_dim, width = weights.recurrent_kernel.shape
    units = width // 4
    arrays = (
        array(state.output, projection_dim),
        array(state.cell, 4 * units),
        array(state.cell, units, n_steps + 1).write(0, state.cell),
    )
    _, last, (outputs, gates, cells) = tf.while_loop(
        lambda step, *_: step < n_steps, one_step, (0, state, arrays)
    )
    return last, outputs.stack(), gates, cells


def _step(inputs, recurrent, bias, before, continuing, bound):
    """From x W and h R: gates (rows, 4 · units), c' and o · tanh(c')."""
    dtype, units = inputs.dtype, before.shape[1]
    x = tf.cast(inputs, before.dtype) + tf.cast(recurrent, before.dtype) + bias
    x = tf.reshape(x, [-1, 4, units])
    # `gates_of` in one expression: sigmoid(x) = (1 + tanh(x / 2)) / 2.
    scale = tf.constant([0.5, 1, 0.5, 0.5], x.dtype)[:, None]
    gates = scale * tf.tanh(scale * x) + (1 - scale)
    state, hidden = lstm_cell.cell(
        tf.unstack(gates, axis=1), continuing * before, bound
    )
    return tf.reshape(gates, [-1, 4 * units]), state, tf.cast(hidden, dtype)


def _backward(
    weights, continuing, bound, *, gates, cells, unclipped, d_outputs, d_last
):
    """Gradients of unclipped outputs, what was projected, gradients of gates and state."""
    n_steps, n_rows, _ = continuing.shape
    step_function = compiled(_step_gradient, bound=bound)
    recurrent_kernel = tf.transpose(weights.recurrent_kernel)
    projection_kernel = weights.projection_kernel
    if projection_kernel is not None:
        projection_kernel = tf.transpose(projection_kernel)

    def one_step(step, d_state, arrays):
        step -= 1
        d_output = (d_state.output + d_outputs[step]) * unclipped[step]
        d_hidden = d_output
        if projection_kernel is not None:
            d_hidden = tf.matmul(d_output, projection_kernel)
        activations = gates.read(step), cells.read(step + 1), cells.read(step)
        d_gates, d_cell, hidden = step_function(
            d_hidden, d_state.cell, *activations, continuing[step]
        )
        d_before = tf.matmul(d_gates, recurrent_kernel)
        d_before *= tf.cast(continuing[step], d_before.dtype)
        values = d_output, hidden, d_gates
        return step, State(d_before, d_cell), write_all(arrays, 3 * [step], values)

    projection_dim, width = weights.recurrent_kernel.shape
    units = width // 4
    widths = projection_dim, units, 4 * units
    dtype = d_last.output.dtype
    arrays = tuple(rows_array(dtype, n_steps, width, rows=n_rows) for width in widths)
    _, d_first, arrays = tf.while_loop(
        lambda step, *_: step > 0, one_step, (n_steps, d_last, arrays)
    )
    packed = (tf.reshape(a.stack(), [-1, w]) for a, w in zip(arrays, widths))
    return *packed, d_first


def _step_gradient(d_hidden, d_cell, gates, cells, before, continuing, bound):
    """Gradients of the gates' inputs and of the cell state before; o · tanh(cell state)."""
    dtype, tanh = d_hidden.dtype, tf.tanh(cells)
    gates = tf.unstack(tf.reshape(gates, [-1, 4, cells.shape[1]]), axis=1)
    _, _, f, o = gates
    d_hidden = tf.cast(d_hidden, cells.dtype)
    d_cell += lstm_cell.through_tanh(d_hidden, o, tanh)
    if bound is not None:
        d_cell = tf.where(tf.abs(cells) < bound, d_cell, tf.zeros_like(d_cell))
    d_gates = lstm_cell.gate_gradients(
        gates, tanh, continuing * before, d_cell=d_cell, d_hidden=d_hidden
    )
    return tf.cast(d_gates, dtype), continuing * f * d_cell, tf.cast(o * tanh, dtype)
