"""Adagrad whose cost follows the rows that have a gradient."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("elmo_keras")
class RowAdagrad(keras.optimizers.Adagrad):
    """Adagrad; of a table it changes the rows with a gradient, and touches no other.

    With `tf.IndexedSlices` as the gradient of a table, Keras' Adagrad takes the
    square root of every row at each step. Each row should be given once: a row's
    gradients are to be summed before.

    Args:
        learning_rate: number, schedule, or function.
        initial_accumulator_value: where accumulators start.
        epsilon: added to the root of the accumulator.
        **kwargs: as for `keras.optimizers.Adagrad`.

    Reference: Duchi et al. 2011; the released models start at 1.0 with epsilon 0.
    """

    def __init__(
        self, learning_rate=0.2, initial_accumulator_value=1.0, epsilon=0.0, **kwargs
    ):
        super().__init__(learning_rate, initial_accumulator_value, epsilon, **kwargs)

    def set_accumulators(self, values) -> None:
        """Sets the accumulators, arrays in the order of the variables."""
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


OPTIMIZERS = {
    "adagrad": RowAdagrad,
    "adam": keras.optimizers.Adam,
    "lion": keras.optimizers.Lion,
    "rmsprop": keras.optimizers.RMSprop,
    "sgd": keras.optimizers.SGD,
}
SLOTS = {"adagrad": 1, "adam": 2, "lion": 1, "rmsprop": 1, "sgd": 0}  # a weight
SCHEDULES = ("constant", "cosine", "linear")


def make_optimizer(
    name: str = "adagrad",
    learning_rate: float = 0.2,
    schedule: str = "constant",
    n_steps: int = 1,
) -> keras.optimizers.Optimizer:
    """An optimizer of training.

    All but Adagrad go through every row of the softmax at each step.

    Args:
        name: one of `OPTIMIZERS`; `"adagrad"` is that of the released models.
        learning_rate: at the first step.
        schedule: one of `SCHEDULES`; others than `"constant"` end at 0.
        n_steps: when they do.
    """
    rate = {
        "constant": learning_rate,
        "cosine": keras.optimizers.schedules.CosineDecay(learning_rate, n_steps),
        "linear": keras.optimizers.schedules.PolynomialDecay(
            learning_rate, n_steps, end_learning_rate=0.0
        ),
    }[schedule]
    return OPTIMIZERS[name](learning_rate=rate)
