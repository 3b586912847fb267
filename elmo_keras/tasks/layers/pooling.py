"""Attention over sentences and pooling of them, without the padding."""

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.layers.pooling import masked_max

NEVER = -1e9  # far below any score, but finite, as its gradients must be


def masked_softmax(scores, mask) -> tf.Tensor:
    """Softmax over the last axis, among the positions where the mask is true; 0 elsewhere."""
    # Keras' softmax warns if the axis has size 1.
    mask = tf.cast(mask, tf.bool)
    return tf.where(mask, tf.nn.softmax(tf.where(mask, scores, NEVER), axis=-1), 0)


def soft_alignment(queries, keys, keys_mask):
    """For each query, the mean of the real keys weighted by `softmax(query · key)`.

    It is 0 where no key is real: `(batch, time, dim)`.
    """
    scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1)))
    return ops.matmul(masked_softmax(scores, keys_mask[:, None, :]), keys)


def masked_min(x, mask) -> tf.Tensor:
    return -masked_max(-x, mask)


@keras.saving.register_keras_serializable("elmo_keras")
class SelfAttentivePooling(keras.layers.Layer):
    """A mean of the tokens with learned weights: `Σ_k softmax_k(v · x_k + b) x_k`.

    Reference: McCann et al. 2017, "Learned in Translation: Contextualized Word
    Vectors", section 5.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.score = keras.layers.Dense(1, name="score")

    def build(self, input_shape):
        self.score.build(input_shape)

    def call(self, x, mask):
        weights = masked_softmax(self.score(x)[..., 0], mask)
        return tf.reduce_sum(tf.expand_dims(weights, -1) * x, axis=1)

    def compute_mask(self, inputs, mask=None):
        return None  # the output has no time axis
