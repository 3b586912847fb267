"""Vectors of all spans, and scores of mentions as antecedents of later ones."""

from typing import NamedTuple

import keras
import tensorflow as tf

from elmo_keras.layers.unquantized import Dense, Embedding
from elmo_keras.tasks.encoder import NEVER, masked_softmax


class Spans(NamedTuple):
    """Spans ordered by first token, then by last, counted over the document."""

    vectors: tf.Tensor
    first: tf.Tensor
    last: tf.Tensor


@keras.saving.register_keras_serializable("elmo_keras")
class SpanVectors(keras.layers.Layer):
    """`[h_first; h_last; Σ_t softmax_t(w · h_t) x_t; φ(width)]` of each span.

    The sum is over the span's tokens; w learns to find its head word, and φ is a trained
    vector for each width. x `(sentences, time, input_dim)` is the input of an LSTM, h
    its output. All spans of 1 to `longest` tokens within a sentence get a vector.

    Reference: Lee et al. 2017, "End-to-end Neural Coreference Resolution", section 4.
    """

    parts = "head_scores", "widths"

    def __init__(self, longest: int = 10, width_dim: int = 20, **kwargs):
        super().__init__(**kwargs)
        self.longest = longest
        self.width_dim = width_dim
        self.head_scores = Dense(1, name="head_scores")
        self.widths = Embedding(longest, width_dim, name="widths")

    def build(self, h_shape):
        self.head_scores.build(h_shape)
        self.widths.build((None,))

    def call(self, x, h, mask):
        x, h = tf.boolean_mask(x, mask), tf.boolean_mask(h, mask)  # (tokens, …)
        sentence = tf.where(mask)[:, 0]
        n_tokens = tf.size(sentence)
        last = tf.range(n_tokens)[:, None] + tf.range(self.longest)
        tokens = tf.minimum(last, n_tokens - 1)  # (tokens, longest)
        inside = tf.gather(sentence, tokens) == sentence[:, None]
        inside &= last < n_tokens
        indices = tf.cast(tf.where(inside), tf.int32)  # first token and width − 1
        first, width = tf.unstack(indices, axis=1)
        heads = tf.gather_nd(self._heads(x, h, tokens, inside), indices)
        at_first, at_last = tf.gather(h, first), tf.gather(h, first + width)
        vectors = [at_first, at_last, heads, self.widths(width)]
        return Spans(tf.concat(vectors, axis=1), first, first + width)

    def _heads(self, x, h, tokens, inside):
        """The weighted sums over spans, by first token: (tokens, longest, input_dim)."""
        width = tf.range(self.longest)
        until = width[:, None] >= width  # of each width its tokens
        scores = tf.gather(self.head_scores(h)[:, 0], tokens)
        weights = masked_softmax(scores[:, None], until & inside[:, None])
        return tf.matmul(weights, tf.gather(x, tokens))


# Distances from one of these up to the next share a vector.
DISTANCES = 1, 2, 3, 4, 5, 8, 16, 32, 64


@keras.saving.register_keras_serializable("elmo_keras")
class AntecedentScores(keras.layers.Layer):
    """How likely two mentions refer to the same thing, for the likeliest pairs.

        c(i, j) = s_i + s_j + g_i W g_j
        s(i, j) = c(i, j) + v · ReLU(A g_i + B g_j + C (g_i ∘ g_j) + D φ(i, j))

    For each i, the `max_antecedents` mentions j < i with the highest c are scored. φ
    joins trained vectors for the distance in mentions and for whether the speaker is the
    same. The vectors g `(mentions, dim)` are in the order of the text.

    Output: the indices of the antecedents, int32 `(mentions, k)`, and their scores, very
    low where there is none; k is at most `max_antecedents` and the number of mentions.

    Reference: Lee et al. 2017, section 4; Lee et al. 2018, "Higher-order Coreference
    Resolution with Coarse-to-fine Inference", section 4.
    """

    parts = (
        *("bilinear", "pair_projection", "mention_projection", "earlier_projection"),
        *("features_projection", "distances", "same_speaker", "scores"),
    )

    def __init__(
        self,
        max_antecedents: int = 50,
        units: int = 150,
        feature_dim: int = 20,
        *,
        dropout: float = 0.2,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.max_antecedents = max_antecedents
        self.units = units
        self.feature_dim = feature_dim
        self.pair_projection = Dense(units)
        self.mention_projection, self.earlier_projection, self.features_projection = (
            Dense(units, use_bias=False) for _ in range(3)
        )
        self.distances = Embedding(len(DISTANCES), feature_dim)
        self.same_speaker = Embedding(2, feature_dim)
        self.drop = keras.layers.Dropout(dropout)
        self.scores = Dense(1, name="scores")

    def build(self, vectors_shape):
        dim = vectors_shape[-1]
        self.bilinear = self.add_weight(shape=(dim, dim), name="bilinear")
        self.pair_projection.build((None, dim))
        self.mention_projection.build((None, dim))
        self.earlier_projection.build((None, dim))
        self.features_projection.build((None, 2 * self.feature_dim))
        self.distances.build((None,))
        self.same_speaker.build((None,))
        self.scores.build((None, self.units))

    def call(self, vectors, mention_scores, speakers, training=False):
        coarse, indices = self._likeliest(vectors, mention_scores)
        hidden = self.pair_projection(vectors[:, None] * tf.gather(vectors, indices))
        hidden += self.mention_projection(vectors)[:, None]
        hidden += tf.gather(self.earlier_projection(vectors), indices)
        hidden += self.features_projection(self._features(indices, speakers))
        hidden = self.drop(tf.nn.relu(hidden), training=training)
        return indices, coarse + tf.squeeze(self.scores(hidden), axis=2)

    def _likeliest(self, vectors, mention_scores):
        """The best coarse scores (mentions, k), and their antecedents."""
        n_mentions = tf.shape(vectors)[0]
        scores = tf.matmul(tf.matmul(vectors, self.bilinear), vectors, transpose_b=True)
        scores += mention_scores[:, None] + mention_scores[None, :]
        index = tf.range(n_mentions)
        scores = tf.where(index[None, :] < index[:, None], scores, NEVER)
        return tf.math.top_k(scores, tf.minimum(self.max_antecedents, n_mentions))

    def _features(self, indices, speakers):
        """φ: (mentions, k, 2 · feature_dim)."""
        distance = tf.range(tf.shape(indices)[0])[:, None] - indices
        flat = tf.reshape(distance, [-1])
        bucket = tf.searchsorted(tf.constant(DISTANCES), flat, side="right")
        bucket = tf.reshape(tf.maximum(bucket - 1, 0), tf.shape(indices))
        same = tf.gather(speakers, indices) == speakers[:, None]
        same = self.same_speaker(tf.cast(same, tf.int32))
        return tf.concat([self.distances(bucket), same], axis=-1)
