"""Matrices stored in panels, which multiply a few rows without being repacked.

A matrix product reads the weights in pieces that fit the processor's caches. The
libraries copy a plain matrix into such pieces at every product: with 1 to 32 rows
the copy takes longer than the arithmetic. An LSTM multiplies this few rows by the
same weights at every step, so its recurrent weights are stored in pieces.

`(depth, width)` becomes `(deep, wide, DEPTH, WIDTH)`: panel `[a, b]` is the block
of rows from `a · DEPTH` and columns from `b · WIDTH`. An axis that can't be divided
stays whole; so does a matrix that fits the caches, `(1, 1, depth, width)`.
"""

import keras
import numpy as np
import tensorflow as tf

# Measured with 1 to 512 rows and matrices from 64 × 256 to 512 × 16384, in float32
# and bfloat16.
WIDTH, DEPTH = 64, 1024
SMALLEST = 2**21  # size of the smallest matrix that is divided


def panel_shape(depth: int, width: int) -> tuple[int, int, int, int]:
    """The shape of a matrix (depth, width) in panels."""
    if depth * width < SMALLEST:
        return 1, 1, depth, width
    deep = depth // DEPTH if depth % DEPTH == 0 else 1
    wide = width // WIDTH if width % WIDTH == 0 else 1
    return deep, wide, depth // deep, width // wide


def to_panels(matrix: np.ndarray) -> np.ndarray:
    """Stores an array (depth, width) in panels."""
    deep, wide, depth, width = panel_shape(*matrix.shape)
    return matrix.reshape(deep, depth, wide, width).transpose(0, 2, 1, 3)


def from_panels(panels: np.ndarray) -> np.ndarray:
    """The plain array (depth, width) of panels."""
    deep, wide, depth, width = panels.shape
    return panels.transpose(0, 2, 1, 3).reshape(deep * depth, wide * width)


class InPanels(keras.initializers.Initializer):
    """Initializes panels with another initializer's values for the plain matrix."""

    def __init__(self, initializer="glorot_uniform"):
        self.initializer = keras.initializers.get(initializer)

    def __call__(self, shape, dtype=None):
        deep, wide, depth, width = shape
        matrix = self.initializer((deep * depth, wide * width), dtype)
        return packed(tf.convert_to_tensor(matrix))


def packed(matrix: tf.Tensor) -> tf.Tensor:
    """Stores a tensor (depth, width) in panels."""
    deep, wide, depth, width = panel_shape(*matrix.shape)
    return tf.transpose(tf.reshape(matrix, [deep, depth, wide, width]), [0, 2, 1, 3])


def plain(panels: tf.Tensor) -> tf.Tensor:
    """The plain matrix (depth, width) of a tensor of panels."""
    deep, wide, depth, width = panels.shape
    return tf.reshape(tf.transpose(panels, [0, 2, 1, 3]), [deep * depth, wide * width])


def transposed(panels: tf.Tensor) -> tf.Tensor:
    """The transposed matrix in panels."""
    deep, wide, depth, width = panels.shape
    matrix = tf.transpose(panels, [1, 3, 0, 2])  # (wide, width, deep, depth)
    return packed(tf.reshape(matrix, [wide * width, deep * depth]))


def product(x: tf.Tensor, panels: tf.Tensor) -> tf.Tensor:
    """x (rows, depth) times a matrix in panels: (rows, width)."""
    deep, wide, depth, width = panels.shape
    if deep == wide == 1:
        return tf.matmul(x, panels[0, 0])
    x = tf.reshape(x, [-1, deep, depth])
    x = tf.transpose(x, [1, 0, 2]) if deep > 1 else tf.reshape(x, [1, -1, depth])
    blocks = tf.matmul(x[:, None], panels)  # (deep, wide, rows, width)
    blocks = blocks[0] if deep == 1 else tf.reduce_sum(blocks, axis=0)
    return tf.reshape(tf.transpose(blocks, [1, 0, 2]), [-1, wide * width])
