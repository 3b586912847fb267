"""A text classifier: the biattentive classification network."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.base.argument_checks import check_counts
from elmo_keras.heads.classifier.ngrams import LONGEST, MASK, PRIME, SEED
from elmo_keras.heads.encoder import FastBidirectional, masked_softmax, soft_alignment
from elmo_keras.heads.label_model import LabelModel
from elmo_keras.heads.token_vectors import TokenVectors
from elmo_keras.layers.pooling import masked_max, masked_mean
from elmo_keras.layers.unquantized import Dense


@keras.saving.register_keras_serializable("elmo_keras")
class SelfAttentivePooling(keras.layers.Layer):
    """A mean of the tokens with learned weights: `Σ_k softmax_k(v · x_k + b) x_k`.

    Reference: McCann et al. 2017, section 5.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.score = Dense(1, name="score")

    def build(self, input_shape):
        self.score.build(input_shape)

    def call(self, x, mask):
        weights = masked_softmax(self.score(x)[..., 0], mask)
        return tf.reduce_sum(tf.expand_dims(weights, -1) * x, axis=1)

    def compute_mask(self, inputs, mask=None):
        return None  # the output has no time axis


@keras.saving.register_keras_serializable("elmo_keras")
class Maxout(keras.layers.Layer):
    """`max_i (x W_i + b_i)` over `pieces` affine maps: `(batch, units)`.

    Reference: Goodfellow et al. 2013, "Maxout Networks".
    """

    def __init__(self, units: int, pieces: int = 4, **kwargs):
        super().__init__(**kwargs)
        self.units, self.pieces = units, pieces
        self.dense = Dense(units * pieces, name="dense")

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        maps = ops.reshape(self.dense(x), (-1, self.pieces, self.units))
        return ops.max(maps, axis=1)


@keras.saving.register_keras_serializable("elmo_keras")
class NgramScores(keras.layers.Layer):
    """Scores of labels by a text's character n-grams: `Σ_i w[row_i] / √n`, of n n-grams.

    Tokens `(batch, time)` → `(batch, labels)`; `ngram_rows` finds the rows. Added to
    the scores of a network, they tell it of endings and spellings that it rarely read.

    Reference: Wang and Manning 2012, "Baselines and Bigrams"; Weinberger et al. 2009,
    "Feature Hashing for Large Scale Multitask Learning".
    """

    def __init__(self, n_rows: int, n_labels: int, **kwargs):
        super().__init__(**kwargs)
        self.n_rows, self.n_labels = n_rows, n_labels

    def build(self, input_shape=None):
        shape = self.n_rows, self.n_labels
        self.kernel = self.add_weight(shape, "zeros", name="kernel")

    def call(self, tokens):
        texts, rows = batch_ngram_rows(tokens, self.n_rows)
        weights = tf.gather(tf.convert_to_tensor(self.kernel), rows)
        n_texts = tf.shape(tokens)[0]
        total = tf.math.unsorted_segment_sum(weights, texts, n_texts)
        n = tf.math.unsorted_segment_sum(tf.ones_like(weights[:, :1]), texts, n_texts)
        return total / tf.sqrt(n)


def batch_ngram_rows(tokens: tf.Tensor, n_rows: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The text of each n-gram of tokens `(batch, time)`, padded with `""`, and its row."""
    text = tf.strings.reduce_join(tokens, axis=1, separator=" ")
    text = tf.strings.regex_replace(text, " *$", "")  # from the padding
    ragged = tf.strings.unicode_decode(tf.strings.join([" ", text, " "]), "UTF-8")
    characters, texts = tf.cast(ragged.flat_values, tf.int64), ragged.value_rowids()
    hashed, rows = tf.fill(tf.shape(characters), tf.constant(SEED, tf.int64)), []
    for n in range(LONGEST):
        n_left = tf.maximum(tf.size(characters) - n, 0)
        hashed = tf.bitwise.bitwise_xor(hashed[:n_left], characters[n:]) * PRIME
        hashed = tf.bitwise.bitwise_and(hashed, MASK)
        row = tf.bitwise.bitwise_xor(hashed, hashed // 2**15) % n_rows
        is_one_text = texts[:n_left] == texts[n:]
        rows.append([tf.boolean_mask(x, is_one_text) for x in (texts[:n_left], row)])
    first, row = (tf.concat(columns, axis=0) for columns in zip(*rows))
    return first, row


@keras.saving.register_keras_serializable("elmo_keras")
class TextClassifier(LabelModel):
    """Labels texts with the biattentive classification network.

    A biLSTM reads the text, x; each token attends to all tokens of the same text, c;
    a second biLSTM reads [x; x − c; x · c]. Its outputs are pooled in four ways; a
    maxout layer and a softmax, or sigmoids for multi-label texts, give probabilities.
    This is the network of the paper's sentiment results, but small: LSTMs of 50 units,
    not 300, and one maxout layer, not two.

    Args:
        token_vectors: a `TokenVectors` layer.
        labels: the names of the labels.
        units: size of each LSTM in each direction, and of the maxout layer.
        dropout: rate of the dropout on each LSTM's output and before the decision.
        multi_label: whether a text may have any number of labels.
        threshold: lowest probability of a predicted label of multi-label texts; 0.3 is
            GoEmotions'.
        ngram_rows: number of rows of the weights of character n-grams, see `NgramScores`,
            which are added to the logits; 0 for none.

    Call arguments:
        inputs: `{"tokens": string (batch, time)}`, see `TaskModel`.

    Output: `(batch, len(labels))`, a probability for each label. `predict` gives the label
    of each list of tokens, or, if `multi_label`, a list of labels.

    >>> classifier = TextClassifier(TokenVectors(), labels=["bad", "good"], units=3)
    >>> classifier.run_eagerly = True  # two texts need no graph
    >>> classifier.predict([["A", "film"], ["No"]])[0] in ["bad", "good"]
    True

    References: McCann et al. 2017, "Learned in Translation: Contextualized Word
    Vectors", section 5; Peters et al. 2018, section 4.
    """

    kind = "classify"

    def __init__(
        self, token_vectors: TokenVectors, *, ngram_rows: int = 0, **options: Any
    ):
        check_counts(least=0, ngram_rows=ngram_rows)
        self.ngram_rows = ngram_rows
        super().__init__(token_vectors, **options)

    def make_parts(self):
        self.integrator = FastBidirectional(self.units, name="integrator")
        self.attention = SelfAttentivePooling(name="attention")
        self.maxout = Maxout(self.units, name="maxout")
        if self.ngram_rows:
            self.ngrams = NgramScores(self.ngram_rows, len(self.labels), name="ngrams")

    def part_sizes(self):
        dim = 2 * self.units
        sizes = {"integrator": 3 * self.encoder.output_dim, "attention": dim}
        sizes |= {"maxout": 4 * dim, "decision": self.units}
        return sizes | ({"ngrams": 1} if self.ngram_rows else {})

    def call(self, inputs, training=False):
        x, _, mask = self.encode(inputs, "tokens", training)
        c = soft_alignment(x, x, mask)
        x = ops.concatenate([x, x - c, x * c], axis=-1)
        x = self.integrator(x, mask=mask, training=training)
        x = self.drop(x, training=training)
        pooled = masked_max(x, mask), -masked_max(-x, mask), masked_mean(x, mask)
        pooled = ops.concatenate([*pooled, self.attention(x, mask)], axis=-1)
        logits = self.decision(self.drop(self.maxout(pooled), training=training))
        if self.ngram_rows:
            logits += ops.cast(self.ngrams(inputs["tokens"]), logits.dtype)
        return self.probabilities(logits)

    def arguments(self):
        return super().arguments() | {"ngram_rows": self.ngram_rows}
