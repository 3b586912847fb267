"""Attention between a text and a question in both directions, and within a text."""

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.tasks.layers.pooling import masked_softmax


@keras.saving.register_keras_serializable("elmo_keras")
class TrilinearScores(keras.layers.Layer):
    """The score of each pair of vectors: `(batch, time, other_time)`.

        a_ij = u · h_i + v · q_j + (w ∘ h_i) · q_j

    Reference: Seo et al. 2017, equation 1.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, texts_shape):
        self.text_weights, self.question_weights, self.product_weights = (
            self.add_weight(texts_shape[-1:], _small, name=name) for name in "uvw"
        )

    def call(self, texts, questions):
        alone = tf.expand_dims(tf.linalg.matvec(texts, self.text_weights), 2)
        other = tf.expand_dims(tf.linalg.matvec(questions, self.question_weights), 1)
        both = ops.matmul(
            texts * self.product_weights, ops.transpose(questions, (0, 2, 1))
        )
        return alone + other + both


class _Attention(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.scores = TrilinearScores(name="scores")

    def build(self, texts_shape):
        self.scores.build(texts_shape)


@keras.saving.register_keras_serializable("elmo_keras")
class AttentionFlow(_Attention):
    """Attention from a text to a question, and from the question to the text.

        c_i = Σ_j softmax_j(a_ij) q_j
        h̃ = Σ_i softmax_i(max_j a_ij) h_i
        y_i = [h_i; c_i; h_i ∘ c_i; h_i ∘ h̃]

    with the scores a of `TrilinearScores`. Sums and maxima ignore padding, where the
    masks are false. The output is `(batch, time, 4 · dim)`.

    Reference: Seo et al. 2017, "Bidirectional Attention Flow for Machine
    Comprehension", section 2.
    """

    def call(self, texts, questions, text_mask, question_mask):
        scores = self.scores(texts, questions)
        weights = masked_softmax(scores, question_mask[:, None, :])
        to_question = ops.matmul(weights, questions)
        highest = tf.reduce_max(
            tf.where(question_mask[:, None, :], scores, scores.dtype.min), axis=2
        )
        weights = masked_softmax(highest, text_mask)[:, None, :]
        to_text = ops.matmul(weights, texts)  # (batch, 1, dim)
        return ops.concatenate(
            [texts, to_question, texts * to_question, texts * to_text], axis=-1
        )


@keras.saving.register_keras_serializable("elmo_keras")
class SelfAttention(_Attention):
    """Attention from each token of a text to the others: `(batch, time, 3 · dim)`.

        c_i = Σ_{j≠i} softmax_j(a_ij) h_j
        y_i = [h_i; c_i; h_i ∘ c_i]

    Reference: Clark and Gardner 2018, "Simple and Effective Multi-Paragraph Reading
    Comprehension", section 3.
    """

    def call(self, texts, mask):
        index = tf.range(tf.shape(texts)[1])
        attended = mask[:, None, :] & (index[:, None] != index)
        weights = masked_softmax(self.scores(texts, texts), attended)
        context = ops.matmul(weights, texts)
        return ops.concatenate([texts, context, texts * context], axis=-1)


def _small(shape, dtype=None):
    """Initial weights that keep a score from growing with the number of its terms."""
    with tf.init_scope():  # no graph can lift what depends on the seed's variable
        values = keras.random.normal(shape, stddev=shape[0] ** -0.5, dtype=dtype)
        return ops.convert_to_numpy(values)
