"""Matrices stored in blocks, which multiply a few rows without being repacked.

The libraries copy a plain matrix into pieces that fit the processor's caches at every
product. With the 1 to 32 rows of an LSTM's step the copy takes longer than the
arithmetic, so its recurrent weights are stored in pieces.

`(depth, width)` becomes `(deep, wide, DEPTH, WIDTH)`: block `[a, b]` holds the
rows from `a · DEPTH` and columns from `b · WIDTH`. An axis that can't be divided stays
whole; so does a matrix that fits the caches, `(1, 1, depth, width)`.
"""

import contextlib
import contextvars
from collections.abc import Iterator

import keras
import tensorflow as tf

from elmo_keras.base.block_shape import block_shape


class Blocked(keras.initializers.Initializer):
    """Initializes blocks with Glorot's values for the plain matrix."""

    def __init__(self):
        self.initializer = keras.initializers.GlorotUniform()

    def __call__(self, shape, dtype=None):
        deep, wide, depth, width = shape
        matrix = self.initializer((deep * depth, wide * width), dtype)
        return block(tf.convert_to_tensor(matrix))  # pyright: ignore[reportArgumentType]


def block(matrix):
    deep, wide, depth, width = block_shape(*matrix.shape)
    return tf.transpose(tf.reshape(matrix, [deep, depth, wide, width]), [0, 2, 1, 3])


def unblock(blocks):
    deep, wide, depth, width = blocks.shape
    if deep == wide == 1:
        return tf.reshape(blocks, [depth, width])
    return tf.reshape(tf.transpose(blocks, [0, 2, 1, 3]), [deep * depth, wide * width])


def transpose(blocks):
    deep, wide, depth, width = blocks.shape
    matrix = tf.transpose(blocks, [1, 3, 0, 2])  # (wide, width, deep, depth)
    return block(tf.reshape(matrix, [wide * width, deep * depth]))


def product(x, blocks):
    """x (rows, depth) times a matrix in blocks: (rows, width)."""
    deep, wide, depth, width = blocks.shape
    if deep == wide == 1:
        return tf.matmul(x, blocks[0, 0])
    x = tf.reshape(x, [-1, deep, depth])
    x = tf.transpose(x, [1, 0, 2]) if deep > 1 else tf.reshape(x, [1, -1, depth])
    blocks = tf.matmul(x[:, None], blocks)  # (deep, wide, rows, width)
    blocks = blocks[0] if deep == 1 else tf.reduce_sum(blocks, axis=0)
    return tf.reshape(tf.transpose(blocks, [1, 0, 2]), [-1, wide * width])


_read_later = contextvars.ContextVar("read_later", default=False)


@contextlib.contextmanager
def values_read_later() -> Iterator[None]:
    """Weights built in this block are zero: their values are read from a file."""
    token = _read_later.set(True)
    try:
        yield
    finally:
        _read_later.reset(token)


def initial(initializer):
    """The initializer of a weight, or `zeros` if its values are read from a file."""
    return "zeros" if _read_later.get() else initializer
