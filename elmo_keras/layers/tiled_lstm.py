"""The recurrence of an LSTM without projection over tiles of a batch, for training.

    i, j, f, o = x W + b + h R
    c' = sigmoid(f) · c + sigmoid(i) · tanh(j)
    h' = sigmoid(o) · tanh(c')

All steps of a tile are one compiled function. The gradient is written out for the same
reason as in `recurrence_gradient`.
"""

import functools
from typing import NamedTuple

import tensorflow as tf

from elmo_keras.layers.compiled import compiled
from elmo_keras.layers.lstm_cell import cell, cell_gradient
from elmo_keras.layers.recurrence import State
from elmo_keras.layers.tiles import STEPS, Tiles


class Kept(NamedTuple):
    """The activations of a tile, or arrays with those of all tiles.

    `gates` (STEPS · rows, 4 · units) after sigmoid and tanh; `outputs` and `cells`
    ((STEPS + 1) · rows, units), which begin with the state before the tile.
    """

    gates: tf.Tensor | tf.TensorArray
    outputs: tf.Tensor | tf.TensorArray
    cells: tf.Tensor | tf.TensorArray


def over_tiles(inputs: tf.Tensor, recurrent_kernel: tf.Tensor, tiles: Tiles):
    """Runs one LSTM in one direction, with the zero state before each row.

    Args:
        inputs: x W + b, (tokens, 4 · units), the gates in the order i, j, f, o.
        recurrent_kernel: R, (units, 4 · units), in the same dtype: float32 or float64.
        tiles: where the tokens are.

    Returns:
        Outputs (tokens, units).
    """
    # One that is part of another graph has no gradient outside of it.
    kind = recurrent_kernel.shape[0], recurrent_kernel.dtype, tf.executing_eagerly()
    return _graph(*kind)(inputs, recurrent_kernel, tiles)


@functools.cache
def _graph(units, dtype, eager):
    """The recurrence as a graph; within another graph it is inlined.

    Args:
        units, dtype: those of the recurrent kernel.
        eager: whether it is called outside of another graph.
    """
    numbers = tf.TensorSpec((None,), tf.int32)
    return tf.function(
        _with_gradient,
        input_signature=[
            tf.TensorSpec((None, 4 * units), dtype),
            tf.TensorSpec((units, 4 * units), dtype),
            Tiles(tf.TensorSpec((), tf.int32), *5 * [numbers]),
        ],
        autograph=False,
    )


def _with_gradient(inputs, recurrent_kernel, tiles):
    @tf.custom_gradient
    def run(inputs, recurrent_kernel):
        units = recurrent_kernel.shape[0]
        kept = _forward(inputs, recurrent_kernel, tiles)
        states = kept.outputs.concat()
        # The state after a step is one step later than the state before it.
        outputs = tf.gather(states, tiles.places(STEPS + 1) + tiles.rows)

        def gradient(d_outputs):
            d_gates = _backward(d_outputs, recurrent_kernel, tiles, kept=kept)
            before = tf.reshape(states, [-1, STEPS + 1, tiles.rows, units])
            before = tf.reshape(before[:, :STEPS], [-1, units])
            return (
                tf.gather(d_gates, tiles.places()),
                tf.matmul(before, d_gates, transpose_a=True),
            )

        return outputs, gradient

    return run(inputs, recurrent_kernel)


def _forward(inputs, recurrent_kernel, tiles):
    """The activations of all tiles, in arrays."""
    units, dtype = recurrent_kernel.shape[0], inputs.dtype
    tokens, continuing = tiles.tokens(), tf.cast(tiles.continuing, dtype)
    of_tile = compiled(_steps)

    def one_tile(i, state, arrays):
        x = tf.gather(inputs, tokens[i])  # (STEPS, rows, 4 · units)
        state = State(*(continuing[i] * part for part in state))
        state, kept = of_tile(x, recurrent_kernel, tiles.sizes[i], state=state)
        return i + 1, state, Kept(*(a.write(i, v) for a, v in zip(arrays, kept)))

    n_tiles = tf.size(tiles.sizes)
    zeros = tf.zeros((tiles.rows, units), dtype)
    widths = 4 * units, units, units
    arrays = Kept(*(_array(dtype, n_tiles, width) for width in widths))
    *_, kept = tf.while_loop(
        lambda i, *_: i < n_tiles, one_tile, (0, State(zeros, zeros), arrays)
    )
    return kept


def _array(dtype, length, width):
    """An array of values (…, width)."""
    shape = None, width
    return tf.TensorArray(
        dtype,
        length,
        element_shape=shape,
        infer_shape=False,
        clear_after_read=False,
    )


def _steps(inputs, recurrent_kernel, n_steps, *, state):
    """The state after the first steps of a tile, and `Kept`."""
    units, dtype = recurrent_kernel.shape[0], inputs.dtype

    def one_step(step, state, kept):
        products = inputs[step], tf.matmul(state.output, recurrent_kernel)
        gates, cells, output = cell(
            products, 0.0, state.cell, continuing=1.0, bound=None
        )
        places = step, step + 1, step + 1
        kept = [a.write(*v) for a, *v in zip(kept, places, (gates, output, cells))]
        return step + 1, State(output, cells), Kept(*kept)

    kept = Kept(
        _array(dtype, STEPS, 4 * units),
        *(_array(dtype, STEPS + 1, units).write(0, part) for part in state),
    )
    _, state, kept = tf.while_loop(
        lambda step, *_: step < n_steps, one_step, (0, state, kept)
    )
    return state, Kept(*map(_rows, kept))


def _backward(d_outputs, recurrent_kernel, tiles, *, kept):
    """Gradients of the gates' inputs: (tiles · STEPS · rows, 4 · units)."""
    units, dtype = recurrent_kernel.shape[0], d_outputs.dtype
    d_outputs, continuing = tiles.tiled(d_outputs), tf.cast(tiles.continuing, dtype)
    transposed = tf.transpose(recurrent_kernel)
    of_tile = compiled(_steps_gradient)

    def one_tile(i, d_state, d_gates):
        i -= 1
        d_state, of_gates = of_tile(
            d_outputs[i],
            transposed,
            tiles.sizes[i],
            kept=(kept.gates.read(i), kept.cells.read(i)),
            d_state=d_state,
        )
        d_state = State(*(continuing[i] * part for part in d_state))
        return i, d_state, d_gates.write(i, of_gates)

    n_tiles = tf.size(tiles.sizes)
    zeros = tf.zeros((tiles.rows, units), dtype)
    d_gates = _array(dtype, n_tiles, 4 * units)
    *_, d_gates = tf.while_loop(
        lambda i, *_: i > 0, one_tile, (n_tiles, State(zeros, zeros), d_gates)
    )
    return d_gates.concat()


def _steps_gradient(d_outputs, transposed, n_steps, *, kept, d_state):
    """The gradient of `_steps`.

    Args:
        d_outputs: (STEPS, rows, units).
        transposed: the recurrent kernel, (4 · units, units).
        n_steps: as in `_steps`.
        kept: gates and cells.
        d_state: with respect to the state after the tile.

    Returns:
        The gradients of the state before the tile and of the gates' inputs (STEPS ·
        rows, 4 · units), zero in the other steps.
    """
    width, units = transposed.shape
    gates = tf.reshape(kept[0], [STEPS, -1, width])
    cells = tf.reshape(kept[1], [STEPS + 1, -1, units])

    def one_step(step, d_state, d_gates):
        step -= 1
        of_gates, d_cell, _ = cell_gradient(
            d_state.output + d_outputs[step],
            d_state.cell,
            gates[step],
            states=(cells[step + 1], cells[step]),
            continuing=1.0,
            bound=None,
        )
        d_state = State(tf.matmul(of_gates, transposed), d_cell)
        return step, d_state, d_gates.write(step, of_gates)

    d_gates = _array(d_outputs.dtype, STEPS, width)
    _, d_state, d_gates = tf.while_loop(
        lambda step, *_: step > 0, one_step, (n_steps, d_state, d_gates)
    )
    return d_state, _rows(d_gates)


def _rows(array):
    """The values of an array, one after another, where shapes are known."""
    values = array.stack()
    return tf.reshape(values, [-1, values.shape[2]])
