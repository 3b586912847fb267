"""An entailment model: the enhanced sequential inference model."""

from typing import Any

import keras
from keras import ops

from elmo_keras.heads.encoder import FastBidirectional, soft_alignment
from elmo_keras.heads.label_model import LabelModel
from elmo_keras.heads.token_vectors import TokenVectors
from elmo_keras.layers.pooling import masked_max, masked_mean
from elmo_keras.layers.unquantized import Dense


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
        units: size of each LSTM in each direction, and of the dense layers.
        dropout: rate of the dropout on the outputs of the encoder and of F, and on the
            pooled vectors.
        labels, multi_label, threshold: as of `TextClassifier`.

    Call arguments:
        inputs: `premise` and `hypothesis`, strings `(batch, time)`, see `TaskModel`.

    Output: `(batch, len(labels))`, a probability for each label. `predict` gives the label
    of each pair of lists, or a list of labels.

    >>> entailment = ESIM(TokenVectors(), labels=["no", "yes"], units=3)
    >>> entailment.run_eagerly = True  # one pair needs no graph
    >>> pairs = {"premise": [["A", "cat", "sits"]], "hypothesis": [["An", "animal"]]}
    >>> entailment.predict(pairs)[0] in ["no", "yes"]
    True

    Reference: Chen et al. 2017, "Enhanced LSTM for Natural Language Inference",
    section 3, without the tree LSTMs.
    """

    kind = "entail"
    text_fields = "premise", "hypothesis"

    def __init__(
        self, token_vectors: TokenVectors, *, dropout: float = 0.3, **options: Any
    ):
        super().__init__(token_vectors, dropout=dropout, **options)

    def make_parts(self):
        units = self.units
        self.inference = Dense(units, "relu", name="inference")
        self.composition = FastBidirectional(units, name="composition")
        self.hidden = Dense(units, "tanh", name="hidden")

    def part_sizes(self):
        return {
            "inference": 4 * self.encoder.output_dim,
            "composition": self.units,
            "hidden": 4 * 2 * self.units,
            "decision": self.units,
        }

    def call(self, inputs, training=False):
        sides = [self.encode(inputs, field, training) for field in self.text_fields]
        pooled = []
        for (x, _, mask), (other, _, other_mask) in zip(sides, reversed(sides)):
            aligned = soft_alignment(x, other, other_mask)
            x = ops.concatenate([x, aligned, x - aligned, x * aligned], axis=-1)
            x = self.drop(self.inference(x), training=training)
            x = self.composition(x, mask=mask, training=training)
            pooled += [masked_mean(x, mask), masked_max(x, mask)]
        pooled = ops.concatenate(pooled, axis=-1)
        hidden = self.hidden(self.drop(pooled, training=training))
        logits = self.decision(self.drop(hidden, training=training))
        return self.probabilities(logits)
