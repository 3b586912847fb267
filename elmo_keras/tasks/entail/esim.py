"""A model of entailment: the enhanced sequential inference model."""

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.tasks.models.attention import soft_alignment
from elmo_keras.tasks.models.padding import one_below_the_other, padded
from elmo_keras.tasks.models.pooling import masked_max, masked_mean
from elmo_keras.tasks.models.sentence_encoder import SentenceEncoder


@keras.saving.register_keras_serializable("elmo_keras")
class ESIM(keras.Model):
    """What a hypothesis is to a premise, such as "entailment".

        ã_i = Σ_j softmax_j(a_i · b_j) b_j,   b̃_j = Σ_i softmax_i(a_i · b_j) a_i
        m_a = LSTM(F([a; ã; a − ã; a · ã])),   m_b in the same way
        p = softmax(G([mean m_a; max m_a; mean m_b; max m_b]))

    where a and b are the vectors that one biLSTM gives of the premise's and the
    hypothesis' tokens, F is a ReLU layer, LSTM a second biLSTM, and G has a tanh
    layer. Padding has no part in sums, means and maxima.

    Args:
        token_vectors: a `TokenVectors` layer.
        labels: the names of the labels.
        units: of each LSTM in each direction, and of the dense layers.
        dropout: rate of the dropout on the encoder's output, F's and the pooled
            vectors.

    Call arguments:
        inputs: `{"premise": string (batch, time), "hypothesis": string (batch,
            time)}`, each padded with `""`, and where the biLM's layers are there
            already, `"premise_layers"` and `"hypothesis_layers"` besides.
        training: whether dropout is applied.

    Output: `(batch, len(labels))`, a probability for each label, as the loss
    `"sparse_categorical_crossentropy"` takes it.

    Example:

    >>> from elmo_keras.tasks.models.token_vectors import TokenVectors
    >>> entailment = ESIM(TokenVectors(), ["no", "yes"], units=3)
    >>> entailment.judge([["A", "cat", "sits"]], [["An", "animal"]])[0] in ["no", "yes"]
    True

    Reference: Chen et al. 2017, "Enhanced LSTM for Natural Language Inference",
    section 3, without the tree LSTMs.
    """

    def __init__(self, token_vectors, labels, units=50, dropout=0.3, **kwargs):
        super().__init__(**kwargs)
        self.token_vectors = token_vectors
        self.labels = list(labels)
        self.units = units
        self.encoder = SentenceEncoder(token_vectors, units, dropout, name="encoder")
        self.inference = keras.layers.Dense(units, "relu", name="inference")
        self.composition = keras.layers.Bidirectional(
            keras.layers.LSTM(units, return_sequences=True), name="composition"
        )
        self.dropout = keras.layers.Dropout(dropout, name="dropout")
        self.hidden = keras.layers.Dense(units, "tanh", name="hidden")
        self.decision = keras.layers.Dense(len(labels), "softmax", name="decision")

    def build(self, input_shape=None):
        self.encoder.build()
        self.inference.build((None, None, 4 * self.encoder.output_dim))
        self.composition.build((None, None, self.units))
        self.hidden.build((None, 4 * 2 * self.units))
        self.decision.build((None, self.units))

    def call(self, inputs, training=False):
        tokens, layers = one_below_the_other(inputs, "premise", "hypothesis")
        x, mask = self.encoder(tokens, layers, training=training)
        # The sentence that each is compared with stands in the other half.
        others = [tf.roll(y, tf.shape(y)[0] // 2, axis=0) for y in (x, mask)]
        aligned = soft_alignment(x, *others)
        x = ops.concatenate([x, aligned, x - aligned, x * aligned], axis=-1)
        x = self.dropout(self.inference(x), training=training)
        x = self.composition(x, mask=mask, training=training)
        pooled = ops.concatenate([masked_mean(x, mask), masked_max(x, mask)], axis=-1)
        pooled = ops.concatenate(tf.split(pooled, 2), axis=-1)
        hidden = self.hidden(self.dropout(pooled, training=training))
        return self.decision(self.dropout(hidden, training=training))

    def judge(
        self, premises: list[list[str]], hypotheses: list[list[str]]
    ) -> list[str]:
        """The label of each pair."""
        inputs = {"premise": padded(premises), "hypothesis": padded(hypotheses)}
        return self.decide(self.predict(inputs, verbose=0))

    def decide(self, probabilities) -> list[str]:
        """The labels that probabilities `(pairs, labels)` stand for."""
        return [self.labels[row.argmax()] for row in probabilities]

    def get_config(self):
        return super().get_config() | {
            "token_vectors": keras.saving.serialize_keras_object(self.token_vectors),
            "labels": self.labels,
            "units": self.units,
            "dropout": self.dropout.rate,
        }

    @classmethod
    def from_config(cls, config):
        vectors = keras.saving.deserialize_keras_object(config["token_vectors"])
        return cls(**config | {"token_vectors": vectors})
