"""The softmax over words that both directions of a biLM share."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("elmo_keras")
class WordSoftmax(keras.layers.Layer):
    """Scores of the words of a vocabulary, and the losses of a language model.

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

    Reference: Peters et al. 2018, section 3.1 (Θ_s); Jean et al. 2015.
    """

    def __init__(self, vocabulary_size, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.vocabulary_size = vocabulary_size

    def build(self, input_shape):
        dim = input_shape[-1]
        self.kernel = self.add_weight(
            shape=(self.vocabulary_size, dim),
            initializer=keras.initializers.RandomNormal(stddev=dim**-0.5),
            name="kernel",
        )
        self.bias = self.add_weight(
            shape=(self.vocabulary_size,), initializer="zeros", name="bias"
        )

    def call(self, inputs):
        kernel = tf.cast(tf.convert_to_tensor(self.kernel), inputs.dtype)
        logits = tf.cast(tf.matmul(inputs, kernel, transpose_b=True), "float32")
        return logits + tf.cast(tf.convert_to_tensor(self.bias), "float32")

    def losses_of(self, inputs, targets):
        """Full-softmax cross entropy of each token, in nats.

        Args:
            inputs: float tensor `(tokens, dim)`.
            targets: integer word ids `(tokens,)`.

        Returns:
            float32 `(tokens,)`.
        """
        return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, self(inputs))

    def sampled_losses_of(self, inputs, targets, n_negative_samples):
        """Sampled-softmax cross entropy of each token, for training only.

        It is below the full softmax's and says nothing of perplexity. Negatives
        come from the log-uniform sampler, so word ids must fall in frequency.

        Args:
            inputs: float tensor `(tokens, dim)`.
            targets: integer word ids `(tokens,)`.
            n_negative_samples: number of distinct negatives, shared by all tokens.

        Returns:
            float32 `(tokens,)`.
        """
        return tf.nn.sampled_softmax_loss(
            weights=tf.convert_to_tensor(self.kernel),
            biases=tf.convert_to_tensor(self.bias),
            labels=tf.cast(targets, tf.int64)[:, None],
            inputs=tf.cast(inputs, self.variable_dtype),
            num_sampled=n_negative_samples,
            num_classes=self.vocabulary_size,
        )

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.vocabulary_size)

    def get_config(self):
        return super().get_config() | {"vocabulary_size": self.vocabulary_size}
