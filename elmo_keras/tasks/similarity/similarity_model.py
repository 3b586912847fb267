"""A model of how alike two sentences are."""

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.tasks.models.padding import one_below_the_other, padded
from elmo_keras.tasks.models.pooling import masked_max
from elmo_keras.tasks.models.sentence_encoder import SentenceEncoder
from elmo_keras.tasks.readers.sentence_pairs import HIGHEST_SCORE


@keras.saving.register_keras_serializable("elmo_keras")
class SimilarityModel(keras.Model):
    """A score from 0, nothing in common, to 5, the same meaning.

        score = 5 σ(G([|u − v|; u · v]))

    where u and v are the maxima over the tokens of what one biLSTM gives of each
    sentence, and G has a ReLU layer. It is the same whichever sentence is first.

    Args:
        token_vectors: a `TokenVectors` layer.
        units: of the LSTM in each direction, and of the ReLU layer.
        dropout: rate of the dropout on the encoder's output and before the score.

    Call arguments:
        inputs: `{"first": string (batch, time), "second": string (batch, time)}`,
            each padded with `""`, and where the biLM's layers are there already,
            `"first_layers"` and `"second_layers"` besides.
        training: whether dropout is applied.

    Output: `(batch,)`, for the loss `"mean_squared_error"`.

    Example:

    >>> from elmo_keras.tasks.models.token_vectors import TokenVectors
    >>> model = SimilarityModel(TokenVectors(), units=3)
    >>> 0 < model.similarity([["A", "cat"]], [["One", "cat"]])[0] < 5
    True

    Reference: Conneau et al. 2017, "Supervised Learning of Universal Sentence
    Representations from Natural Language Inference Data", section 3.
    """

    def __init__(self, token_vectors, units=100, dropout=0.2, **kwargs):
        super().__init__(**kwargs)
        self.token_vectors = token_vectors
        self.units = units
        self.encoder = SentenceEncoder(token_vectors, units, dropout, name="encoder")
        self.dropout = keras.layers.Dropout(dropout, name="dropout")
        self.hidden = keras.layers.Dense(units, "relu", name="hidden")
        self.score = keras.layers.Dense(1, "sigmoid", name="score")

    def build(self, input_shape=None):
        self.encoder.build()
        self.hidden.build((None, 2 * self.encoder.output_dim))
        self.score.build((None, self.units))

    def call(self, inputs, training=False):
        tokens, layers = one_below_the_other(inputs, "first", "second")
        u, v = tf.split(masked_max(*self.encoder(tokens, layers, training=training)), 2)
        x = ops.concatenate([ops.abs(u - v), u * v], axis=-1)
        x = self.hidden(self.dropout(x, training=training))
        score = self.score(self.dropout(x, training=training))
        return HIGHEST_SCORE * ops.squeeze(score, axis=-1)

    def similarity(
        self, firsts: list[list[str]], seconds: list[list[str]]
    ) -> list[float]:
        """The score of each pair."""
        inputs = {"first": padded(firsts), "second": padded(seconds)}
        return self.predict(inputs, verbose=0).tolist()

    def get_config(self):
        return super().get_config() | {
            "token_vectors": keras.saving.serialize_keras_object(self.token_vectors),
            "units": self.units,
            "dropout": self.dropout.rate,
        }

    @classmethod
    def from_config(cls, config):
        vectors = keras.saving.deserialize_keras_object(config["token_vectors"])
        return cls(**config | {"token_vectors": vectors})
