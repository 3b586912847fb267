"""The gradient of `recurrence.forward`.

It is written out because the gradient of a `tf.while_loop` adds up weight gradients
step by step, where one matrix product over all tokens is enough.
"""

import tensorflow as tf

from elmo_keras.layers.panels import packed, product, transposed
from elmo_keras.layers.recurrence import HOST, State, Steps, rows_of


def backward(x, sizes, weights, *, state, clips, outputs, activations, upstream):
    """Gradients of one LSTM layer over packed tokens.

    Args:
        x, sizes, weights, state, clips: as in `recurrence.forward`.
        outputs, activations: as `recurrence.forward` returned them.
        upstream: gradients with respect to the outputs and the last `State`.

    Returns:
        Gradients with respect to x, each of the weights and each part of the state.
    """
    steps = Steps(sizes)
    outputs_before, cells_before = _before(sizes, state, (outputs, activations.cells))
    d_gates, d_projected, d_state = _through_steps(
        steps,
        weights,
        upstream,
        factors=_factors(activations, cells_before, clips.cell),
        unclipped=not_clipped(outputs, clips.output),
    )
    o = activations.gates[:, -activations.cells.shape[1] :]
    hidden = tf.cast(o * tf.tanh(activations.cells), x.dtype)
    return (
        tf.matmul(d_gates, weights.kernel, transpose_b=True),
        tf.matmul(x, d_gates, transpose_a=True),
        packed(tf.matmul(outputs_before, d_gates, transpose_a=True)),
        tf.reduce_sum(tf.cast(d_gates, weights.bias.dtype), axis=0),
        packed(tf.matmul(hidden, d_projected, transpose_a=True)),
        *d_state,
    )


def _through_steps(steps, weights, upstream, *, factors, unclipped):
    """Goes from the last step to the first.

    Returns:
        Gradients with respect to all gate inputs (tokens, 4 · units), unclipped
        outputs (tokens, projection) and the first state.
    """
    d_outputs, d_last = upstream
    recurrent_kernel = transposed(weights.recurrent_kernel)
    projection_kernel = transposed(weights.projection_kernel)

    def one_step(step, d_rows, arrays):
        step -= 1
        # The rows that end at this step join those that have another step.
        rows = zip(d_rows, steps.ending(d_last, step))
        d_rows = State(*(tf.concat(parts, axis=0) for parts in rows))
        d_output = d_rows.output + steps.of(d_outputs, step)
        d_output *= steps.of(unclipped, step)
        d_gate, d_cell = _step_gradient(
            product(d_output, projection_kernel), d_rows.cell, steps.of(factors, step)
        )
        d_gate = tf.cast(d_gate, d_output.dtype)
        d_rows = State(product(d_gate, recurrent_kernel), d_cell)
        values = zip(arrays, (d_gate, d_output))
        return step, d_rows, tuple(array.write(step, value) for array, value in values)

    # A 0 that graph optimisation does not fold: the first d_rows have no rows.
    nothing = 0 * tf.reduce_sum(steps.sizes, keepdims=True)
    d_rows = State(*(rows_of(part, [0], nothing) for part in d_last))
    widths = weights.kernel.shape[1], unclipped.shape[1]
    arrays = tuple(steps.array(d_outputs.dtype, width) for width in widths)
    _, d_rows, arrays = tf.while_loop(
        lambda step, *_: step > 0, one_step, (steps.number, d_rows, arrays)
    )
    n_rows = tf.shape(d_rows.cell)[0]  # the rows after these had no step
    d_state = [tf.concat([d, last[n_rows:]], 0) for d, last in zip(d_rows, d_last)]
    return *(array.concat() for array in arrays), d_state


def _before(sizes, first, packed):
    """For each packed token, its row's value one step earlier; `first` at step 0."""
    rows, steps = tf.shape(first.cell)[0], tf.size(sizes)
    # In [first, packed], a token's value one step before is as many rows earlier as
    # that step has rows.
    earlier = tf.concat([[rows], sizes], axis=0)[:steps]
    with tf.device(HOST):
        earlier = tf.repeat(earlier, sizes)  # (tokens,)
    place = tf.range(tf.size(earlier)) + rows - earlier
    return [
        tf.gather(tf.concat([start, x], 0), place) for start, x in zip(first, packed)
    ]


def _factors(activations, cells_before, cell_clip):
    """All factors of a step's gradient: (tokens, 7 · units).

    They are computed for all tokens at once, so that a step has little to do.
    """
    i, j, f, o = tf.split(activations.gates, 4, axis=1)
    tanh_cell = tf.tanh(activations.cells)
    unclipped = not_clipped(activations.cells, cell_clip)
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


def not_clipped(clipped, bound):
    """1.0 where clipping did not change the value, 0.0 where it reached the bound."""
    if bound is None:
        return tf.ones_like(clipped)
    return tf.cast(tf.abs(clipped) < tf.constant(bound, clipped.dtype), clipped.dtype)


def _step_gradient(d_hidden, d_cell, factors):
    """Gradients with respect to the gate inputs and the previous cell state."""
    units = d_cell.shape[1]
    to_gates, of_hidden, of_cell, to_before = tf.split(
        factors, [4 * units, units, units, units], axis=1
    )
    d_hidden = tf.cast(d_hidden, d_cell.dtype)
    d_cell = of_cell * d_cell + of_hidden * d_hidden
    d_gates = to_gates * tf.concat([d_cell, d_cell, d_cell, d_hidden], axis=1)
    return d_gates, to_before * d_cell
