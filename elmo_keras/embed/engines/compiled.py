"""The vectors of sentences by TensorFlow in batches of a few shapes, compiled by XLA."""

import functools
import warnings
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from elmo_keras.bilm import check_process
from elmo_keras.embed.engines.tensorflow import TensorFlowEngine, trace
from elmo_keras.layers.loops import NOT_COMPILED, why_not_compiled
from elmo_keras.text.characters import characters_of_words, cut_pieces

OF_TIME, OF_ROWS, OF_WORDS = 1.3, 4, 4  # from a size to the next one
SHORTEST = 4  # steps, with both boundaries
LONGEST = 1024  # steps; x W + b of all of them is in memory at once
TOKENS = 2**13  # of a full batch
PLACES = 8, 13, 21, 34  # of characters, and all


class CompiledEngine(TensorFlowEngine):
    """`TensorFlowEngine` for GPUs: a batch is padded to one of a few shapes.

    Each shape is compiled once. Where XLA can't, a warning says so, and the graph of
    `TensorFlowEngine` computes.
    """

    ahead = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._is_compiled = True
        self._words_of_shape = functools.cache(self._compile_words)
        self._layers_of_shape = functools.cache(self._compile_layers)

    def word_vectors(self, words: Sequence[bytes]) -> np.ndarray:
        check_process()
        if self._is_compiled and words:
            # A begin, an end and one of padding; a normal form may have more bytes.
            longest = max(map(len, words)) + 3
            if self.config.unicode_normalization:
                longest = self.config.max_characters_per_token
            shape = next_size(len(words), OF_WORDS), self.config.ids_per_token
            ids = np.zeros(shape, np.int32)
            ids[: len(words)] = characters_of_words(tf.constant(words), self.config)
            places = next((n for n in PLACES if n >= longest), longest)
            places = min(places, self.config.max_characters_per_token)
            vectors = self._run(self._words_of_shape, (*shape, places), ids)
            if vectors is not None:
                return vectors[: len(words)]
        return super().word_vectors(words)

    def compute(self, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        check_process()
        lengths = lengths + 2
        n_rows, time = padded_shape(len(lengths), int(lengths.max(initial=0)))
        if self._is_compiled and time <= LONGEST:
            steps, of_rows = np.arange(time), np.zeros(n_rows, np.int32)
            of_rows[: len(lengths)] = lengths
            real = steps < of_rows[:, None]
            rows = np.zeros((n_rows, time, x.shape[1]), x.dtype)
            rows[real] = x
            layers = self._run(self._layers_of_shape, rows.shape, rows, of_rows)
            if layers is not None:
                inner = (steps > 0) & (steps < of_rows[:, None] - 1)
                return layers[:, real if self.n_boundaries else inner]
        return super().compute(x, lengths - 2)

    def _run(self, function_of, shape, *arrays):
        """The array that the function of this shape returns; None without XLA."""
        try:
            return function_of(*shape)(*map(tf.constant, arrays)).numpy()
        except NOT_COMPILED as error:
            reason = why_not_compiled(error)
            warnings.warn(f"XLA can't compile the vectors: {reason}", stacklevel=2)
            self._is_compiled = False
            return None

    def _compile_words(self, n_words, n_ids, places):
        def compute(ids):
            pieces = cut_pieces(ids, [places], self.config)
            return self.elmo.bilm.token_representation.call_pieces(pieces)

        spec = tf.TensorSpec((n_words, n_ids), tf.int32)
        return trace(compute, spec, jit_compile=True)

    def _compile_layers(self, n_rows, time, dim):
        def compute(x, lengths):
            hidden = self.elmo.bilm.lstm.call_padded(x, lengths)
            return tf.stack(self._select([tf.concat([x, x], axis=-1), *hidden]))

        x = tf.TensorSpec((n_rows, time, dim), self.elmo.bilm.compute_dtype)
        lengths = tf.TensorSpec((n_rows,), tf.int32)
        return trace(compute, x, lengths, jit_compile=True)


def engine_of_devices() -> type[TensorFlowEngine]:
    """The engine for a GPU, if there is one, or for CPUs."""
    return (
        CompiledEngine if tf.config.list_physical_devices("GPU") else TensorFlowEngine
    )


def next_size(n: int, growth: float, first: int = 1) -> int:
    """The smallest of sizes, each `growth` times the one before, that is at least n.

    >>> [next_size(n, 1.3, first=4) for n in (1, 5, 6, 8, 30)]
    [4, 5, 6, 9, 37]
    """
    size = first
    while size < n:
        size = max(size + 1, int(size * growth))
    return size


def padded_shape(n_rows: int, time: int) -> tuple[int, int]:
    """Rows and steps of a batch, padded; a full batch has about as many rows as needed.

    >>> [padded_shape(*batch) for batch in ((1, 9), (10, 9), (900, 9), (1100, 8))]
    [(1, 9), (16, 9), (1024, 9), (1184, 9)]
    """
    time = next_size(time, OF_TIME, SHORTEST)
    full = int(TOKENS * OF_TIME / time) + 1
    rows = next_size(n_rows, OF_ROWS)
    return (min(rows, full) if n_rows <= full else rows), time
