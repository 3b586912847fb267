"""A dense layer that returns the maximum of its pieces."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("elmo_keras")
class Maxout(keras.layers.Layer):
    """`max_i (x W_i + b_i)` over `pieces` affine maps.

    Args:
        units: output size.
        pieces: number of affine maps.

    Input: `(batch, dim)`. Output: `(batch, units)`.

    Reference: Goodfellow et al. 2013, "Maxout Networks".
    """

    def __init__(self, units, pieces=4, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.pieces = pieces
        self.dense = keras.layers.Dense(units * pieces, name="dense")

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        maps = ops.reshape(self.dense(x), (-1, self.pieces, self.units))
        return ops.max(maps, axis=1)

    def compute_output_shape(self, input_shape):
        return input_shape[0], self.units

    def get_config(self):
        return super().get_config() | {"units": self.units, "pieces": self.pieces}
