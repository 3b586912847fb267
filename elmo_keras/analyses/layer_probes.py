"""A linear classifier of tokens or texts for each layer of a biLM."""

import keras
import tensorflow as tf

from elmo_keras.layers.pooling import masked_mean
from elmo_keras.text.tokens import token_mask


@keras.saving.register_keras_serializable("elmo_keras")
class LayerProbes(keras.Model):
    """Independent linear classifiers, one for each layer, trained side by side.

    They classify the tokens, or the mean vector of a text's tokens if `of_texts`.
    The inputs are those of `Batches` with a cache. Scores are `(batch, n_layers, time,
    n_classes)`, labels int32 `(batch, time)` and predicted classes int32 `(batch,
    n_layers, time)`, both −1 at padding; for texts, time is 1. The loss is the sum
    over the layers, so that each one trains as if alone.

    Reference: Peters et al. 2018, Table 6.
    """

    def __init__(self, n_layers: int, n_classes: int, of_texts: bool = False, **kwargs):
        super().__init__(**kwargs)
        self.n_layers, self.of_texts = n_layers, of_texts
        self.dense = keras.layers.EinsumDense(
            "blti,lio->blto", (n_layers, None, n_classes), bias_axes="lo"
        )

    def call(self, inputs):
        vectors = inputs["tokens_layers"]
        if self.of_texts:
            mask = token_mask(inputs["tokens"])
            layers = tf.unstack(vectors, self.n_layers, axis=1)
            means = [masked_mean(layer, mask) for layer in layers]
            vectors = tf.stack(means, axis=1)[:, :, None]
        return self.dense(vectors)

    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        labels = tf.repeat(y[:, None], self.n_layers, axis=1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            tf.maximum(labels, 0), y_pred
        )
        n_tokens = tf.reduce_sum(tf.cast(y >= 0, losses.dtype))
        return tf.reduce_sum(tf.where(labels >= 0, losses, 0)) / tf.maximum(n_tokens, 1)

    def predict_step(self, data):
        inputs = keras.utils.unpack_x_y_sample_weight(data)[0]
        best = tf.argmax(self(inputs), axis=-1, output_type=tf.int32)
        if self.of_texts:
            return best
        return tf.where(token_mask(inputs["tokens"])[:, None], best, -1)
