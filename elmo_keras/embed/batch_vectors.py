"""From numbered words to the vectors of a batch."""

import numpy as np
import tensorflow as tf

from elmo_keras.characters import character_ids
from elmo_keras.elmo import Elmo
from elmo_keras.embedding.packed import Packed, pack_sentences
from elmo_keras.embedding.sentences import Batch

WORDS_AT_ONCE = 1024
CHOICES = "all", "average", "top", "mix"


class WordVectors:
    """The context-independent vectors of all words that were numbered, each once.

    Args:
        elmo: gives the vectors.
    """

    def __init__(self, elmo: Elmo):
        dim, dtype = elmo.config.projection_dim, elmo.bilm.compute_dtype
        self._known = 0
        self._waiting: list[list[bytes]] = []
        self._table = np.empty((0, dim), tf.as_dtype(dtype).as_numpy_dtype)

        def vectors(words):
            return elmo.bilm.token_representation(character_ids(words, elmo.config))

        self._vectors = _graph(vectors, tf.TensorSpec((None,), tf.string))

    def expect(self, batch: Batch) -> None:
        """Takes up the new words of a batch, to be computed when they are needed.

        Each batch has to come by, also one whose vectors are not wanted: a word's
        vector may differ in its last digit with the words it is computed with.
        """
        if batch.renumbered:
            self._known = 0
            self._waiting.clear()
        self._waiting.append(batch.new_words)

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """The vectors of words `(words, projection_dim)` by their numbers."""
        for words in self._waiting:
            self._compute(words)
        self._waiting.clear()
        return self._table[numbers]

    def _compute(self, words):
        self._make_room(self._known + len(words))
        # The cost of a piece is that of its longest word.
        order = np.argsort([len(word) for word in words], kind="stable")
        for first in range(0, len(words), WORDS_AT_ONCE):
            some = order[first : first + WORDS_AT_ONCE]
            vectors = self._vectors(tf.constant([words[i] for i in some]))
            self._table[self._known + some] = vectors.numpy()
        self._known += len(words)

    def _make_room(self, rows):
        if rows > len(self._table):
            rows = max(rows, 2 * len(self._table))
            table = np.empty((rows, self._table.shape[1]), self._table.dtype)
            table[: self._known] = self._table[: self._known]
            self._table = table


class SentenceVectors:
    """The vectors of a batch: both LSTMs over its real tokens, then the layers wanted.

    Args:
        elmo: gives the vectors; its first mix is that of `"mix"`.
        layers: `"all"`, `"average"`, `"top"`, `"mix"` or the index of a layer.
        dtype: of the result, `"float32"` or `"float16"`.
        mean: whether there is one vector a sentence, the mean over its tokens, 0
            where there is none.

    Raises:
        ValueError: there are no such layers, or no such dtype.
    """

    def __init__(self, elmo: Elmo, layers: str | int, dtype: str, mean: bool):
        self.elmo, self.layers, self.dtype, self.mean = elmo, layers, dtype, mean
        self.n_layers = elmo.config.n_layers + 1
        self._check()
        index = tf.TensorSpec((None,), tf.int32)
        x = tf.TensorSpec((None, elmo.config.projection_dim), elmo.bilm.compute_dtype)
        self._compute = _graph(self._vectors, x, Packed(*[index] * len(Packed._fields)))

    def _check(self):
        if self.dtype not in ("float32", "float16"):
            raise ValueError(
                f"`dtype` should be 'float32' or 'float16'. Received: {self.dtype!r}"
            )
        allowed = (*CHOICES, *range(self.n_layers))
        if self.layers not in allowed or isinstance(self.layers, bool):
            raise ValueError(
                f"`layers` should be one of {allowed}. Received: {self.layers!r}"
            )

    @property
    def shape(self) -> tuple[int | None, ...]:
        """That of a sentence's vectors; None is the number of tokens."""
        shape = (None, 2 * self.elmo.config.projection_dim)
        shape = shape[1:] if self.mean else shape
        return (self.n_layers, *shape) if self.layers == "all" else shape

    def of(self, batch: Batch, words: WordVectors) -> list[np.ndarray]:
        """The vectors of each sentence of a batch, each of `shape`."""
        result = self._compute(
            tf.constant(words.of(batch.words)),
            Packed(*map(tf.constant, pack_sentences(batch.lengths))),
        ).numpy()
        axis = 1 if self.layers == "all" else 0
        if self.mean:
            return list(np.moveaxis(result, axis, 0))
        return np.split(result, np.cumsum(batch.lengths - 2)[:-1], axis)

    def _vectors(self, x, packed):
        vectors = self._chosen(x, packed)
        if self.mean:
            of = self._means if self.layers != "all" else self._means_of_all
            vectors = of(vectors, packed)
        return tf.cast(vectors, self.dtype)

    def _chosen(self, x, packed):
        """The layers wanted, (inner tokens, …) or (layers, inner tokens, …)."""
        if self.layers == 0:  # needs no LSTM
            return _float32(_doubled(x, packed))
        layers = [_doubled(x, packed), *self._lstm_layers(x, packed)]
        if self.layers == "mix":
            return _float32(self.elmo.mixes[0](layers))
        layers = [_float32(layer) for layer in layers]
        if self.layers == "all":
            return tf.stack(layers)
        if self.layers == "average":
            return tf.add_n(layers) / len(layers)
        return layers[-1 if self.layers == "top" else self.layers]

    def _lstm_layers(self, x, packed):
        lstm = self.elmo.bilm.lstm
        directions = (
            (lstm.forward, packed.ahead, packed.ahead_places),
            (lstm.backward, packed.back, packed.back_places),
        )
        outputs = []
        for stack, tokens, places in directions:
            state = stack.zero_state(packed.sizes[0])
            layers, _ = stack.call_packed(tf.gather(x, tokens), packed.sizes, state)
            outputs.append([tf.gather(layer, places) for layer in layers])
        return [tf.concat(pair, axis=-1) for pair in zip(*outputs)]

    def _means_of_all(self, layers, packed):
        return tf.stack([self._means(h, packed) for h in tf.unstack(layers)])

    def _means(self, vectors, packed):
        n_rows = packed.sizes[0]
        sums = tf.math.unsorted_segment_sum(vectors, packed.rows, n_rows)
        ones = tf.ones_like(packed.rows, tf.float32)
        lengths = tf.math.unsorted_segment_sum(ones, packed.rows, n_rows)
        return tf.math.divide_no_nan(sums, lengths[:, None])


def _graph(function, *signature):
    # A concrete function: TensorFlow warns where a `tf.function` is made repeatedly.
    return tf.function(function, autograph=False).get_concrete_function(*signature)


def _doubled(x, packed):
    x = tf.gather(x, packed.inner)
    return tf.concat([x, x], axis=-1)


def _float32(x):
    return tf.cast(x, tf.float32)
