"""One step of `ProjectedLSTM` besides its matrix products, and its gradient.

Gates and clips are in the order of TensorFlow 1's `LSTMCell`, which the published weights
were trained with.
"""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.layers.blocked_weights import unblock


class Weights(NamedTuple):
    """Weights of one LSTM layer in one direction, all but the bias in the compute dtype."""

    kernel: tf.Tensor  # (in, 4 · units)
    recurrent_kernel: tf.Tensor  # (projection, 4 · units), in blocks as the last one
    bias: tf.Tensor  # (4 · units), with the forget gate's, of the cell state's dtype
    projection_kernel: tf.Tensor | None = None  # (units, projection)

    def unblock(self):
        kernel, recurrent_kernel, bias, projection_kernel = self
        if projection_kernel is not None:
            projection_kernel = unblock(projection_kernel)
        return Weights(kernel, unblock(recurrent_kernel), bias, projection_kernel)


class State(NamedTuple):
    """The LSTM state: `output` (rows, projection), `cell` (rows, units)."""

    output: tf.Tensor
    cell: tf.Tensor


class Clips(NamedTuple):
    """Bounds of the absolute cell state and of the absolute output, or None."""

    cell: float | None
    output: float | None


def cell_dtype(compute_dtype: str) -> str:
    """The dtype of cell state and gates: at least float32."""
    return "float64" if compute_dtype == "float64" else "float32"


def gates_of(inputs):
    """The gates i, j, f, o, each (rows, units), of x W + h R + b."""
    i, j, f, o = tf.split(inputs, 4, axis=1)
    return tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f), tf.sigmoid(o)


def cell(gates, before, bound):
    """The cell state and o · tanh(cell state), from the cell state before."""
    i, j, f, o = gates
    state = clip(f * before + i * j, bound)
    return state, o * tf.tanh(state)


def gate_gradients(gates, tanh, before, *, d_cell, d_hidden):
    """Gradients of the gates' inputs (rows, 4 · units)."""
    i, j, f, o = gates
    d_i, d_j = d_cell * j * i * (1 - i), d_cell * i * (1 - j * j)
    d_f, d_o = d_cell * before * f * (1 - f), d_hidden * tanh * o * (1 - o)
    return tf.concat([d_i, d_j, d_f, d_o], axis=1)


def through_tanh(d_hidden, o, tanh):
    """The gradient of the cell state from that of o · tanh(cell state)."""
    return d_hidden * o * (1 - tanh * tanh)


def clip(x, bound):
    if bound is None:
        return x
    # One operation where `tf.clip_by_value` takes two.
    bound = tf.constant(bound, x.dtype)
    return tf.raw_ops.ClipByValue(t=x, clip_value_min=-bound, clip_value_max=bound)


def not_clipped(clipped, bound):
    """1.0 where clipping did not change the value, 0.0 where it reached the bound."""
    if bound is None:
        return tf.ones_like(clipped)
    return tf.cast(tf.abs(clipped) < tf.constant(bound, clipped.dtype), clipped.dtype)
