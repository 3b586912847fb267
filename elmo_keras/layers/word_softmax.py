"""The softmax over words that both directions of a biLM share."""

import keras
import tensorflow as tf

from elmo_keras.base.argument_checks import check_counts
from elmo_keras.layers.blocked_weights import initial

# How many logits evaluation holds at once: 128 MiB in float32.
LOGITS_AT_ONCE = 2**25


@keras.saving.register_keras_serializable("elmo_keras")
class WordSoftmax(keras.layers.Layer):
    """The scores of all words of a vocabulary.

    `logits = x Wᵀ + b` with one row of W for each word.

    Args:
        vocabulary_size: number of words.

    Call arguments:
        inputs: float tensor `(..., dim)`, the last layer of one direction.

    Output: float32 logits `(..., vocabulary_size)`.

    Example:

    >>> softmax = WordSoftmax(vocabulary_size=7)
    >>> softmax(keras.ops.ones((2, 3, 5))).shape
    TensorShape([2, 3, 7])

    Reference: Peters et al. 2018, section 3.1 (Θ_s).
    """

    def __init__(self, vocabulary_size: int, **kwargs):
        check_counts(vocabulary_size=vocabulary_size)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.vocabulary_size = vocabulary_size

    def build(self, input_shape):
        shape = self.vocabulary_size, input_shape[-1]
        normal = keras.initializers.RandomNormal(stddev=shape[1] ** -0.5)
        self.kernel = self.add_weight(shape, initial(normal), name="kernel")
        self.bias = self.add_weight(shape[:1], "zeros", name="bias")

    def call(self, inputs):
        return word_logits(inputs, *self.table())

    def table(self):
        return [tf.convert_to_tensor(w.value) for w in (self.kernel, self.bias)]

    def log_probabilities_of(self, inputs, targets):
        """Full-softmax log probabilities `(tokens,)` of target words, in nats.

        The vocabulary is divided into pieces, so that memory is bounded for any
        number of words. For evaluation only: the gradient is not efficient.
        """
        inputs = tf.cast(inputs, self.compute_dtype)
        kernel, bias = self.table()
        n_tokens = tf.maximum(1, tf.shape(inputs)[0])
        words_at_once = tf.maximum(1, LOGITS_AT_ONCE // n_tokens)

        def piece(first, total):
            rows = slice(first, first + words_at_once)
            logits = word_logits(inputs, kernel[rows], bias[rows])
            sums = tf.reduce_logsumexp(logits, axis=1)
            total = tf.reduce_logsumexp(tf.stack([total, sums]), axis=0)
            return first + words_at_once, total

        lowest = tf.fill([tf.shape(inputs)[0]], tf.float32.min)
        _, total = tf.while_loop(
            lambda first, _: first < self.vocabulary_size,
            piece,
            (0, lowest),
            parallel_iterations=1,
        )
        rows = tf.cast(tf.gather(kernel, targets), inputs.dtype)
        logits = tf.reduce_sum(tf.cast(inputs * rows, tf.float32), axis=1)
        return logits + tf.cast(tf.gather(bias, targets), tf.float32) - total

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.vocabulary_size)

    def get_config(self):
        return super().get_config() | {"vocabulary_size": self.vocabulary_size}


def word_logits(inputs, kernel, bias):
    """float32 scores `(..., words)` of the words with these rows of the softmax."""
    product = tf.matmul(inputs, tf.cast(kernel, inputs.dtype), transpose_b=True)
    return tf.cast(product, tf.float32) + tf.cast(bias, tf.float32)
