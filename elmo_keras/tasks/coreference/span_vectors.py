"""Vectors of all spans of sentences up to a length."""

from typing import NamedTuple

import keras
import tensorflow as tf

from elmo_keras.tasks.layers.pooling import masked_softmax


class Spans(NamedTuple):
    """Spans of a document, ordered by first token, then by last, counted over it.

    Their `vectors` are float `(spans, dim)`, `first` and `last` int32 `(spans,)`.
    """

    vectors: tf.Tensor
    first: tf.Tensor
    last: tf.Tensor

    def gather(self, places: tf.Tensor) -> "Spans":
        return Spans(*(tf.gather(x, places) for x in self))


@keras.saving.register_keras_serializable("elmo_keras")
class SpanVectors(keras.layers.Layer):
    """`[h_first; h_last; Σ_t softmax_t(w · h_t) x_t; φ(width)]` of each span.

    The sum is over the span's tokens; w learns to find its head word, and φ is a trained
    vector for each width. x `(sentences, time, input_dim)` is the input of an LSTM, h
    its output. All spans of 1 to `longest` tokens within a sentence get a vector.

    Reference: Lee et al. 2017, "End-to-end Neural Coreference Resolution", section 4.
    """

    def __init__(self, longest=10, width_dim=20, **kwargs):
        super().__init__(**kwargs)
        self.longest = longest
        self.width_dim = width_dim
        self.head_scores = keras.layers.Dense(1, name="head_scores")
        self.widths = keras.layers.Embedding(longest, width_dim, name="widths")

    def build(self, x_shape, h_shape, mask_shape=None):
        self.head_scores.build(h_shape)
        self.widths.build((None,))

    def call(self, x, h, mask):
        places = self._places(mask)
        sentence, first, width = tf.unstack(places, axis=1)
        last = first + width
        heads = tf.gather_nd(self._heads(x, h, mask), places)
        at_first, at_last = (
            tf.gather_nd(h, tf.stack([sentence, t], axis=1)) for t in (first, last)
        )
        vectors = [at_first, at_last, heads, self.widths(width)]
        # Number of tokens before each sentence.
        lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        offset = tf.gather(tf.cumsum(lengths, exclusive=True), sentence)
        return Spans(tf.concat(vectors, axis=1), offset + first, offset + last)

    def _places(self, mask):
        """Sentence, first token in it, and width − 1 of each span: (spans, 3)."""
        padded = tf.pad(mask, [[0, 0], [0, self.longest - 1]])
        time = tf.shape(mask)[1]
        ends = [padded[:, i : i + time] for i in range(self.longest)]
        return tf.cast(tf.where(tf.stack(ends, axis=2)), tf.int32)

    def _heads(self, x, h, mask):
        """The weighted sums over spans: (sentences, time, longest, input_dim)."""
        sentences, time = tf.unstack(tf.shape(mask))
        first = tf.range(time)[:, None, None]
        last = first + tf.range(self.longest)[None, :, None]
        token = tf.range(time)[None, None, :]
        inside = tf.reshape((first <= token) & (token <= last), [-1, time])
        scores = tf.transpose(self.head_scores(h), [0, 2, 1])  # (sentences, 1, time)
        weights = masked_softmax(scores, inside[None] & mask[:, None, :])
        shape = [sentences, time, self.longest, x.shape[-1]]
        return tf.reshape(tf.matmul(weights, x), shape)

    def get_config(self):
        return super().get_config() | {
            "longest": self.longest,
            "width_dim": self.width_dim,
        }
