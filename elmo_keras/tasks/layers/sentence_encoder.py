"""A biLSTM over sentences or pairs, with ELMo vectors concatenated to its output."""

from collections.abc import Mapping

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.tasks.layers.bilstm import Bidirectional
from elmo_keras.tasks.layers.token_vectors import LayerArgument


@keras.saving.register_keras_serializable("elmo_keras")
class SentenceEncoder(LayerArgument, keras.layers.Layer):
    """`[h_k; ELMo_k]`, where h is the output of a biLSTM over the token vectors.

    The output is `(batch, time, output_dim)`, 0 at padding, and the mask of real tokens.
    `layers` are the biLM's or None, see `TokenVectors`; dropout is applied to h.

    Reference: Peters et al. 2018, section 3.3.
    """

    def __init__(self, token_vectors, units=100, dropout=0.2, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False  # XLA has no strings
        self.token_vectors = token_vectors
        self.units = units
        self.lstm = Bidirectional(units, name="lstm")
        self.dropout = keras.layers.Dropout(dropout, name="dropout")

    @property
    def output_dim(self) -> int:
        return 2 * self.units + self.token_vectors.output_dim

    def build(self, input_shape=None):
        self.token_vectors.build()
        self.lstm.build((None, None, self.token_vectors.input_dim))

    def call(self, tokens, layers=None, training=False):
        x, at_output, mask = self.token_vectors(tokens, layers, training=training)
        h = self.dropout(self.lstm(x, mask=mask, training=training), training=training)
        if at_output is not None:
            h = tf.concat([h, at_output], axis=-1)
        return ops.where(mask[..., None], h, 0), mask


def stacked_pair(
    inputs: Mapping[str, tf.Tensor], first: str, second: str
) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Tokens `(2 · batch, time)` of both texts, and layers or None, for one encoder's run."""
    tokens = [inputs[first], inputs[second]]
    time = tf.maximum(*(tf.shape(t)[1] for t in tokens))
    stacked = tf.concat([_widened(t, time, axis=1) for t in tokens], axis=0)
    layers = [inputs.get(f"{field}_layers") for field in (first, second)]
    if layers[0] is None:
        return stacked, None
    return stacked, tf.concat([_widened(x, time, axis=2) for x in layers], axis=0)


def _widened(x, size, axis):
    missing = size - tf.shape(x)[axis]
    paddings = [[0, missing if i == axis else 0] for i in range(x.shape.rank)]
    return tf.pad(x, paddings, constant_values="" if x.dtype == tf.string else 0)
