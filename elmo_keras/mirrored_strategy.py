"""String batches on several devices of a machine."""

import warnings

import keras
import tensorflow as tf

_MEAN = tf.distribute.ReduceOp.MEAN, "MEAN", "mean"


class MirroredStrategy(tf.distribute.MirroredStrategy):
    """`tf.distribute.MirroredStrategy` with which Keras models can take strings.

    `fit` and `evaluate` of a model made in a strategy's scope average the first batch
    over the replicas, only to learn its shapes and dtypes. Here the first replica's part
    is the average of strings and of tensors of different shapes, which have none; all
    else is TensorFlow's.

    Args:
        devices: as in `tf.distribute.MirroredStrategy`.
        cross_device_ops: as there; if None and there is no GPU, the values are reduced
            on one device, since the default fails on CPUs with a second strategy.

    Example:

        strategy = MirroredStrategy()
        with strategy.scope():
            elmo = Elmo.from_pretrained("model")
            tokens = keras.Input((None,), dtype="string")
            model = keras.Model(tokens, keras.layers.Dense(3)(elmo(tokens)))
            model.compile("adam", "mse")
        model.fit(dataset)  # the batch is divided among the replicas
    """

    def __init__(self, devices=None, cross_device_ops=None):
        if cross_device_ops is None and not tf.config.list_physical_devices("GPU"):
            cross_device_ops = tf.distribute.ReductionToOneDevice()
        super().__init__(devices, cross_device_ops)

    def reduce(self, reduce_op, value, axis):
        reduce = super().reduce

        def mean(values):
            replicas = self.experimental_local_results(values)
            has_mean = _have_a_mean(replicas)
            return reduce(reduce_op, values, axis) if has_mean else replicas[0]

        if axis is not None or reduce_op not in _MEAN:
            return reduce(reduce_op, value, axis)
        return tf.nest.map_structure(mean, value)


def _have_a_mean(values):
    return len(values) == 1 or all(
        not isinstance(v, tf.RaggedTensor)
        and v.dtype not in (tf.string, tf.bool)
        and v.shape.is_compatible_with(values[0].shape)
        for v in values
    )


def warn_of_replicas(inputs) -> None:
    """Warns if a model is made of string inputs that `fit` can't divide among replicas."""
    if not keras.utils.is_keras_tensor(inputs) or inputs.dtype != "string":
        return
    strategy = tf.distribute.get_strategy()
    if (
        isinstance(strategy, tf.distribute.MirroredStrategy)
        and not isinstance(strategy, MirroredStrategy)
        and strategy.num_replicas_in_sync > 1
    ):
        warnings.warn(
            "`fit` and `evaluate` of this model will fail on strings (AddN), which "
            "they average over the replicas. Make the strategy with "
            "`elmo_keras.MirroredStrategy`, or pass `elmo_keras.character_ids` of the "
            "tokens.",
            stacklevel=3,
        )
