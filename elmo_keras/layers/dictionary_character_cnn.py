"""The context-independent vectors of words that a model knows by dictionaries."""

from collections.abc import Sequence

import keras
import tensorflow as tf

from elmo_keras.layers.blocked_weights import initial
from elmo_keras.layers.character_cnn import CharacterCNN


@keras.saving.register_keras_serializable("elmo_keras")
class DictionaryCharacterCNN(CharacterCNN):
    """The token representation x of ELMoForManyLangs, and of language models of tokens.

    Beside the vectors of its characters a word has one of its own:

        x = [word; highways(activation(max over positions of the n-grams))] W + b

    Either part may be missing: x = word W + b in a model of words only, and x = word in
    a language model of tokens of bilm-tf.

    Args:
        filters, projection_dim, embedding_dim, n_highway, activation: as in
            `CharacterCNN`.
        has_projection: whether there is a projection.
        n_characters, n_words: numbers of characters and words in the dictionary; 0 for
            vectors without them. Without characters there are no filters.
        word_dim: size of a word's own vector.

    Call arguments:
        inputs: integer tensor `(..., ids)` as `elmo_keras.character_ids` returns it:
            the id of the word, if `n_words`, and then those of its characters, if
            `n_characters`. 0 is a masked position; any other id is that of the dictionary plus one.
        training: as in `CharacterCNN`.

    Output and mask: as in `CharacterCNN`.

    Example:

    >>> cnn = DictionaryCharacterCNN(
    ...     ((1, 4), (2, 8)), projection_dim=6, n_characters=40, n_words=9, word_dim=5
    ... )
    >>> cnn(keras.ops.ones((2, 3, 1 + 10), "int32")).shape
    TensorShape([2, 3, 6])

    Reference: Che et al. 2018, "Towards Better UD Parsing", section 2.1.
    """

    def __init__(
        self,
        filters: Sequence[tuple[int, int]],
        projection_dim: int,
        embedding_dim: int = 50,
        *,
        n_characters: int,
        n_words: int = 0,
        word_dim: int = 0,
        has_projection: bool = True,
        **kwargs,
    ):
        if bool(n_words) != bool(word_dim):
            raise ValueError(
                "`n_words` and `word_dim` should both be 0, or both above 0. "
                f"Received: {n_words} and {word_dim}"
            )
        if bool(n_characters) != bool(filters) or not (n_characters or n_words):
            raise ValueError(
                "`n_characters` and `filters` should both be given, or neither where "
                f"there are `n_words`. Received: {n_characters} and {filters}"
            )
        super().__init__(
            filters,
            projection_dim,
            embedding_dim,
            has_projection=has_projection,
            **kwargs,
        )
        self.n_characters = n_characters
        self.n_words = n_words
        self.word_dim = word_dim

    def build(self, input_shape):
        if self.n_characters:
            super().build(input_shape)
        else:
            self.kernels, self.biases = [], []
            if self.projection is not None:
                self.projection.build((None, self.word_dim))
        if self.n_words:
            values = keras.initializers.RandomUniform(-1.0, 1.0)
            if self.projection is None:  # TensorFlow's default, which bilm-tf takes
                values = keras.initializers.GlorotUniform()
            self.word_embeddings = self.add_weight(
                (self.n_words, self.word_dim), initial(values), name="word_embeddings"
            )

    def call(self, inputs, training=False):
        if self.n_characters:
            return super().call(inputs, training)
        x = self._word_vectors(tf.convert_to_tensor(inputs))
        return x if self.projection is None else self.projection(x)

    def _word_vectors(self, words):
        """The vectors of words of the dictionary; arbitrary at a masked position."""
        ids = tf.maximum(tf.cast(words[..., 0], tf.int64) - 1, 0)
        table = tf.convert_to_tensor(self.word_embeddings)
        return tf.cast(tf.gather(table, ids), self.compute_dtype)

    def get_config(self):
        return super().get_config() | {
            "n_characters": self.n_characters,
            "n_words": self.n_words,
            "word_dim": self.word_dim,
        }
