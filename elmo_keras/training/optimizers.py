"""The optimizers of training, and an Adagrad that updates only rows with a gradient."""

import re
from typing import Any

import keras
import tensorflow as tf

from elmo_keras.training.options import OPTIMIZERS


@keras.saving.register_keras_serializable("elmo_keras")
class RowAdagrad(keras.optimizers.Adagrad):
    """Adagrad that reads and writes only the rows of a table that have a gradient.

    Given `tf.IndexedSlices` as the gradient of a table, Keras' Adagrad takes the
    square root of every row at each step. A row may occur only once in the slices:
    its gradients must be summed first.

    Reference: Duchi et al. 2011; the released models start at 1.0 with epsilon 0.
    """

    def __init__(
        self, learning_rate=0.2, initial_accumulator_value=1.0, epsilon=0.0, **kwargs
    ):
        super().__init__(learning_rate, initial_accumulator_value, epsilon, **kwargs)

    def set_accumulators(self, values) -> None:
        for accumulator, value in zip(self._accumulators, values, strict=True):
            accumulator.assign(value)

    def update_step(self, gradient, variable, learning_rate):
        accumulator = self._accumulators[self._get_variable_index(variable)]
        arguments = {
            "var": variable.handle,
            "accum": accumulator.value.handle,
            "lr": tf.cast(learning_rate, variable.dtype),
            "epsilon": tf.cast(self.epsilon, variable.dtype),
        }
        if isinstance(gradient, tf.IndexedSlices):
            tf.raw_ops.ResourceSparseApplyAdagradV2(
                grad=gradient.values, indices=gradient.indices, **arguments
            )
        else:
            tf.raw_ops.ResourceApplyAdagradV2(grad=gradient, **arguments)


@keras.saving.register_keras_serializable("elmo_keras")
class Muon(keras.optimizers.Adam):
    """Muon for the kernels of the LSTM and the projection of tokens, Adam for the rest.

    The updates are those of Keras' Muon without weight decay, but each iteration of
    Newton and Schulz multiplies the Gram matrix, not the whole one. The square matrices
    of the highway layers would take longer than the rest of a training step.

    Reference: Jordan et al. 2024; Liu et al. 2025 for the size of an update.
    """

    def build(self, variables):
        super().build(variables)
        kernels = re.compile(r"\blstm/.*kernel$|\bprojection/kernel$")
        self._is_kernel = [bool(kernels.search(v.path)) for v in variables]

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        if not self._is_kernel[index]:
            super().update_step(gradient, variable, learning_rate)
            return
        momentum = self._momentums[index]
        self.assign(momentum, 0.95 * momentum + gradient)
        update = _orthogonalize(gradient + 0.95 * momentum)
        longest = max(update.shape[-2:])  # pyright: ignore[reportArgumentType]
        size = 0.2 * longest**0.5  # the size of a usual update of Adam
        self.assign_sub(variable, tf.cast(learning_rate, update.dtype) * size * update)


def _orthogonalize(x):
    """About U Vᵀ of the matrix x = U S Vᵀ, by five iterations of Newton and Schulz."""
    matrix = tf.reshape(x, x.shape[-2:])  # (1, 1, units, n) in the LSTM
    matrix /= tf.norm(matrix) + 1e-7
    wide = matrix.shape[0] <= matrix.shape[1]
    gram = tf.matmul(matrix, matrix, transpose_a=not wide, transpose_b=wide)
    product = identity = tf.eye(gram.shape[0], dtype=gram.dtype)
    for _ in range(5):
        factor = 3.4445 * identity - 4.7750 * gram + 2.0315 * gram @ gram
        product = factor @ product
        gram = factor @ gram @ factor
    return tf.reshape(product @ matrix if wide else matrix @ product, x.shape)


OWN = {"adagrad": RowAdagrad, "muon": Muon}  # they replace those of Keras


def make_optimizer(
    name: str = "adagrad",
    learning_rate: float | None = None,
    *,
    schedule: str = "constant",
    n_steps: int = 1,
) -> keras.optimizers.Optimizer:
    """An optimizer. Its rate falls to 0 in `n_steps`, unless it is constant.

    Without `learning_rate` it has the rate of `elmo-keras train` for a new model.

    With `cosine` it first rises from 0, in a tenth of the steps, at most 1000. All
    but Adagrad update every row of the softmax at each step.
    """
    rate = highest = learning_rate or OPTIMIZERS[name].rate
    if schedule == "linear":
        rate = keras.optimizers.schedules.PolynomialDecay(highest, n_steps, 0.0)
    elif schedule == "cosine":
        # Without a linear start, Adam's first steps make the token vectors too large.
        rising = min(1000, n_steps // 10)
        rate = keras.optimizers.schedules.CosineDecay(
            0.0, n_steps - rising, warmup_target=highest, warmup_steps=rising
        )
    optimizer: Any = OWN.get(name) or type(keras.optimizers.get(name))
    return optimizer(learning_rate=rate)
