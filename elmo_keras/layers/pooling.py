"""One vector of each sentence: layers that pool over the real tokens."""

import keras
import tensorflow as tf


def masked_mean(x, mask) -> tf.Tensor:
    """Mean over the real tokens `(batch, dim)`, 0 without any."""
    total = tf.reduce_sum(tf.where(mask[..., None], x, 0), axis=1)
    count = tf.reduce_sum(tf.cast(mask, total.dtype), axis=1)
    return total / tf.expand_dims(tf.maximum(count, 1), 1)


def masked_max(x, mask) -> tf.Tensor:
    """Maximum over the real tokens `(batch, dim)`, 0 without any."""
    lowest = tf.reduce_min(x, axis=1, keepdims=True)  # never above a real token
    highest = tf.reduce_max(tf.where(mask[..., None], x, lowest), axis=1)
    return tf.where(tf.reduce_any(mask, axis=1, keepdims=True), highest, 0)


class _Pooling(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x, mask=None):
        if mask is None:
            mask = tf.ones(tf.shape(x)[:2], tf.bool)
        return self.pool(x, tf.cast(mask, tf.bool))

    def compute_mask(self, inputs, mask=None):
        return None  # the output has no time axis

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[2])


@keras.saving.register_keras_serializable("elmo_keras")
class MeanPooling(_Pooling):
    """The mean over the real tokens of each sentence, 0 for a sentence without any.

    Keras' `GlobalAveragePooling1D` divides by 0 there: one empty text makes weights NaN.

    Call arguments:
        x: float tensor `(batch, time, dim)`, such as `Elmo` returns.
        mask: bool `(batch, time)`, true at real tokens; Keras passes on `Elmo`'s mask.

    Output: `(batch, dim)`.

    >>> MeanPooling()(keras.ops.ones((2, 3, 5))).shape
    TensorShape([2, 5])
    """

    pool = staticmethod(masked_mean)


@keras.saving.register_keras_serializable("elmo_keras")
class MaxPooling(_Pooling):
    """The maximum over the real tokens of each sentence, 0 for a sentence without any.

    Call arguments and output: see `MeanPooling`.

    >>> MaxPooling()(keras.ops.ones((2, 3, 5))).shape
    TensorShape([2, 5])
    """

    pool = staticmethod(masked_max)
