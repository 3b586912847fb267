"""A model of the similarity of two sentences."""

from collections.abc import Sequence

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.layers.pooling import masked_max
from elmo_keras.tasks.layers.bilstm import SentenceEncoder, stacked_pair
from elmo_keras.tasks.layers.task_model import TaskModel
from elmo_keras.tasks.layers.token_vectors import TokenVectors
from elmo_keras.tasks.readers.labelled_texts import HIGHEST_SIMILARITY


@keras.saving.register_keras_serializable("elmo_keras")
class SimilarityModel(TaskModel):
    """Scores two sentences from 0 (nothing in common) to 5 (the same meaning).

        score = 5 σ(G([|u − v|; u · v]))

    where u and v are the maxima over the tokens of each sentence after one biLSTM, and
    G is a ReLU layer and a linear one. The order of the sentences does not matter.

    Args:
        token_vectors: a `TokenVectors` layer.
        units: size of the LSTM in each direction, and of the ReLU layer.
        dropout: rate of the dropout on the encoder's output and before the score.

    Call arguments:
        inputs: `first` and `second`, strings `(batch, time)`, see `TaskModel`.

    Output: `(batch,)`, for the loss `"mean_squared_error"`.

    >>> model = SimilarityModel(TokenVectors(), units=3)
    >>> model.run_eagerly = True  # one pair needs no graph
    >>> 0 < model.similarity([["A", "cat"]], [["One", "cat"]])[0] < 5
    True

    Reference: Conneau et al. 2017, "Supervised Learning of Universal Sentence
    Representations from Natural Language Inference Data", section 3.
    """

    text_fields = "first", "second"

    def __init__(
        self,
        token_vectors: TokenVectors,
        units: int = 100,
        dropout: float = 0.2,
        **kwargs,
    ):
        super().__init__(token_vectors, units, dropout, **kwargs)
        self.encoder = SentenceEncoder(token_vectors, units, dropout, name="encoder")
        self.hidden = keras.layers.Dense(units, "relu", name="hidden")
        self.score = keras.layers.Dense(1, "sigmoid", name="score")

    def build(self, input_shape=None):
        self.encoder.build()
        self.hidden.build((None, 2 * self.encoder.output_dim))
        self.score.build((None, self.units))

    def call(self, inputs, training=False):
        tokens, layers = stacked_pair(inputs, "first", "second")
        encoded = masked_max(*self.encoder(tokens, layers, training=training))
        u, v = tf.split(encoded, 2)
        x = ops.concatenate([ops.abs(u - v), u * v], axis=-1)
        x = self.hidden(self.dropout(x, training=training))
        score = self.score(self.dropout(x, training=training))
        return HIGHEST_SIMILARITY * tf.squeeze(score, axis=-1)

    def answers(self, inputs):
        """The `score` of each pair, `(batch,)`."""
        return {"score": tf.cast(self(inputs, training=False), tf.float32)}

    def similarity(
        self, firsts: Sequence[Sequence[str]], seconds: Sequence[Sequence[str]]
    ) -> list[float]:
        """The score of each pair."""
        return [float(score) for score in self.predict_texts(firsts, seconds)]
