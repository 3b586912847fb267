"""An entailment model: the enhanced sequential inference model."""

from collections.abc import Sequence

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.layers.pooling import masked_max, masked_mean
from elmo_keras.tasks.encoder import (
    FastBidirectional,
    SentenceEncoder,
    soft_alignment,
    stacked_pair,
)
from elmo_keras.tasks.task_model import LabelModel
from elmo_keras.tasks.token_vectors import TokenVectors, named_weights


@keras.saving.register_keras_serializable("elmo_keras")
class ESIM(LabelModel):
    """The relation of a hypothesis to a premise, such as "entailment".

        ã_i = Σ_j softmax_j(a_i · b_j) b_j,   b̃_j = Σ_i softmax_i(a_i · b_j) a_i
        m_a = LSTM(F([a; ã; a − ã; a · ã])),   m_b in the same way
        p = softmax(G([mean m_a; max m_a; mean m_b; max m_b]))

    where a and b are the vectors of the premise's and the hypothesis's tokens from one
    biLSTM, F is a ReLU layer, LSTM a second biLSTM, and G a tanh layer and a linear
    one. Sums, means and maxima ignore padding.

    Args:
        token_vectors: a `TokenVectors` layer.
        labels: the names of the labels.
        units: size of each LSTM in each direction, and of the dense layers.
        dropout: rate of the dropout on the outputs of the encoder and of F, and on the
            pooled vectors.

    Call arguments:
        inputs: `premise` and `hypothesis`, strings `(batch, time)`, see `TaskModel`.

    Output: `(batch, len(labels))`, a probability for each label, for the loss
    `"sparse_categorical_crossentropy"`.

    >>> entailment = ESIM(TokenVectors(), ["no", "yes"], units=3)
    >>> entailment.run_eagerly = True  # one pair needs no graph
    >>> entailment.judge([["A", "cat", "sits"]], [["An", "animal"]])[0] in ["no", "yes"]
    True

    Reference: Chen et al. 2017, "Enhanced LSTM for Natural Language Inference",
    section 3, without the tree LSTMs.
    """

    text_fields = "premise", "hypothesis"

    def __init__(
        self,
        token_vectors: TokenVectors,
        labels: Sequence[str],
        units: int = 50,
        *,
        dropout: float = 0.3,
        **kwargs,
    ):
        super().__init__(token_vectors, labels, units, dropout, **kwargs)
        self.encoder = SentenceEncoder(token_vectors, units, dropout, name="encoder")
        self.inference = keras.layers.Dense(units, "relu", name="inference")
        self.composition = FastBidirectional(units, name="composition")
        self.hidden = keras.layers.Dense(units, "tanh", name="hidden")
        self.decision = keras.layers.Dense(len(labels), "softmax", name="decision")

    def build(self, input_shape=None):
        self.encoder.build()
        self.inference.build((None, None, 4 * self.encoder.output_dim))
        self.composition.build((None, None, self.units))
        self.hidden.build((None, 4 * 2 * self.units))
        self.decision.build((None, self.units))

    def call(self, inputs, training=False):
        tokens, layers = stacked_pair(inputs, "premise", "hypothesis")
        x, mask = self.encoder(tokens, layers, training=training)
        # Each sentence is compared with the one in the other half of the batch.
        others = [tf.roll(y, tf.shape(y)[0] // 2, axis=0) for y in (x, mask)]
        aligned = soft_alignment(x, *others)
        x = ops.concatenate([x, aligned, x - aligned, x * aligned], axis=-1)
        x = self.dropout(self.inference(x), training=training)
        x = self.composition(x, mask=mask, training=training)
        pooled = tf.concat([masked_mean(x, mask), masked_max(x, mask)], axis=-1)
        pooled = tf.concat(tf.split(pooled, 2), axis=-1)
        hidden = self.hidden(self.dropout(pooled, training=training))
        return self.decision(self.dropout(hidden, training=training))

    def named_weights(self):
        return named_weights(
            encoder=self.encoder,
            inference=self.inference,
            composition=self.composition,
            hidden=self.hidden,
            decision=self.decision,
        )

    def judge(
        self, premises: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]
    ) -> list[str]:
        """The label of each pair."""
        return self.decide(self.predict_texts(premises, hypotheses))
