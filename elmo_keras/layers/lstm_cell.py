"""What an LSTM computes at a step besides its matrix products, and its gradient.

c' = clip(sigmoid(f) · c + sigmoid(i) · tanh(j))
h' = sigmoid(o) · tanh(c')
"""

import tensorflow as tf


def cell(products, bias, before, *, continuing, bound):
    """Gates and cell state of one step.

    Args:
        products: x W and h R, each (rows, 4 · units).
        bias: (4 · units), with the forget gate's bias.
        before: (rows, units), the cell state of the step before.
        continuing: (rows, 1), 0.0 for rows that start from the zero state, else 1.0.
        bound: of the absolute cell state, or None.

    Returns:
        The gates i, j, f, o (rows, 4 · units) after sigmoid and tanh, the cell state,
        and o · tanh(cell state) in the dtype of the products.
    """
    units = before.shape[1]
    x = sum(tf.cast(p, before.dtype) for p in products) + bias
    x = tf.reshape(x, [-1, 4, units])
    # sigmoid(x) = (1 + tanh(x / 2)) / 2: all gates in one expression.
    scale = tf.constant([0.5, 1, 0.5, 0.5], x.dtype)[:, None]
    gates = scale * tf.tanh(scale * x) + (1 - scale)
    i, j, f, o = tf.unstack(gates, axis=1)
    state = f * (continuing * before) + i * j
    if bound is not None:
        state = tf.clip_by_value(state, -bound, bound)
    hidden = tf.cast(o * tf.tanh(state), products[0].dtype)
    return tf.reshape(gates, [-1, 4 * units]), state, hidden


def cell_gradient(d_hidden, d_state, gates, *, states, continuing, bound):
    """The gradient of `cell`.

    Args:
        d_hidden, d_state: with respect to o · tanh(cell state) and the cell state.
        gates: as `cell` returned them.
        states: the cell state that `cell` returned, and the one before.
        continuing, bound: as in `cell`.

    Returns:
        Gradients with respect to the products, in the dtype of `d_hidden`, and the cell
        state before; and o · tanh(cell state) in the same dtype as the first.
    """
    state, before = states
    units, dtype = state.shape[1], d_hidden.dtype
    i, j, f, o = tf.unstack(tf.reshape(gates, [-1, 4, units]), axis=1)
    tanh, d_hidden = tf.tanh(state), tf.cast(d_hidden, state.dtype)
    d_state += d_hidden * o * (1 - tanh * tanh)
    if bound is not None:
        d_state = tf.where(tf.abs(state) < bound, d_state, tf.zeros_like(d_state))
    d_gates = [
        d_state * j * i * (1 - i),
        d_state * i * (1 - j * j),
        d_state * (continuing * before) * f * (1 - f),
        d_hidden * tanh * o * (1 - o),
    ]
    return (
        tf.cast(tf.concat(d_gates, axis=1), dtype),
        continuing * f * d_state,
        tf.cast(o * tanh, dtype),
    )
