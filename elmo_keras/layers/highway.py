"""The highway layer over the character n-gram filters."""

# keras.ops are not annotated; what pyright infers of them has None.
# pyright: reportOptionalOperand=false, reportOperatorIssue=false

import keras
from keras import ops

from elmo_keras.layers.blocked_weights import initial


@keras.saving.register_keras_serializable("elmo_keras")
class Highway(keras.layers.Layer):
    """A highway layer: passes on a gated part of its input unchanged.

    `y = g · relu(x W_transform + b_transform) + (1 − g) · x` with
    `g = sigmoid(x W_carry + b_carry)`.

    `b_carry` starts at the published −2, with which most of the input passes unchanged.

    Call arguments:
        inputs: float tensor `(..., dim)`.

    Output: float tensor of the same shape. The mask is passed on.

    Example:

    >>> Highway()(keras.ops.ones((2, 3))).shape
    TensorShape([2, 3])

    Reference: Srivastava et al. 2015; the names `carry` and `transform` are
    bilm-tf's, whose "carry" gate weighs the transformed part.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        dim = input_shape[-1]
        bias = keras.initializers.Constant(-2.0)

        def kernel(name):
            normal = keras.initializers.RandomNormal(stddev=dim**-0.5)
            return self.add_weight((dim, dim), initial(normal), name=name)

        self.carry_kernel = kernel("carry_kernel")
        self.carry_bias = self.add_weight((dim,), bias, name="carry_bias")
        self.transform_kernel = kernel("transform_kernel")
        self.transform_bias = self.add_weight((dim,), "zeros", name="transform_bias")

    def call(self, inputs):
        carry = ops.matmul(inputs, self.carry_kernel) + self.carry_bias
        transform = ops.matmul(inputs, self.transform_kernel) + self.transform_bias
        gate = ops.sigmoid(carry)
        return gate * ops.relu(transform) + (1 - gate) * inputs

    def compute_output_shape(self, input_shape):
        return input_shape
