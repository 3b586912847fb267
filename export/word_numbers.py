"""The numbers of known words, found without a lookup table."""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from elmo_keras.tasks import TokenVectors

N_KEYS = 2**63 - 1


class WordNumbers:
    """Takes the place of the layer `StringLookup`: word i has the number i + 1.

    Core operations search for the key of each word in a sorted array, and compare the
    word found there. A SavedModel so needs no table that a loader must fill.

    Args:
        words: distinct words, at least one.

    Call arguments:
        tokens: strings of any shape.

    Output: int64 of the same shape, 0 for other words.

    >>> numbers = WordNumbers(["a", "word"])
    >>> numbers(tf.constant([["word", "other", "a"]])).numpy().tolist()
    [[2, 0, 1]]
    """

    def __init__(self, words: Sequence[str]):
        encoded = np.array([word.encode() for word in words], object)
        keys = _keys(tf.constant(encoded, tf.string)).numpy()
        order = np.argsort(keys)
        self._keys, self._words = keys[order], encoded[order]
        self._numbers = (order + 1).astype("int64")
        same = np.flatnonzero(np.diff(self._keys) == 0)
        if same.size:  # about once in 10⁹ vocabularies of 100,000 words
            raise ValueError(
                "The words of a model should have different keys. The key of "
                f"{self._words[same[0]]!r} is that of {self._words[same[0] + 1]!r}."
            )

    def __call__(self, tokens):
        flat = tf.reshape(tokens, [-1])
        places = tf.searchsorted(tf.constant(self._keys), _keys(flat))
        places = tf.minimum(places, len(self._keys) - 1)
        found = tf.gather(tf.constant(self._words, tf.string), places)
        numbers = tf.gather(tf.constant(self._numbers), places)
        return tf.reshape(tf.where(found == flat, numbers, 0), tf.shape(tokens))


def _keys(words):
    return tf.strings.to_hash_bucket_fast(words, N_KEYS)


@contextlib.contextmanager
def without_tables(vectors: TokenVectors) -> Iterator[None]:
    """What is traced within the context looks up words with core operations."""
    if not vectors.words:
        yield
        return
    table = vectors.word_numbers
    vectors.word_numbers = WordNumbers(vectors.words)
    try:
        yield
    finally:
        vectors.word_numbers = table
