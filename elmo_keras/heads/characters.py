"""The vectors that heads make of a word's characters, in NumPy."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from elmo_keras.config import ElmoConfig
from elmo_keras.text.word_ids import WordIds

# Words become characters as in the published models.
CHARACTERS = ElmoConfig.preset("original")
WIDTHS = 3, 6  # bytes: three or six letters, one or two Hangul syllables
_AT_ONCE = 256  # words


class LightCharacters:
    """The `CharacterCNN` of `TokenVectors` over each distinct word.

    Args:
        embeddings: the vectors of characters, `(n_characters, size)`.
        filters: for each of `WIDTHS` a kernel `(width, size, n)` and a bias `(n,)`.
    """

    def __init__(
        self, embeddings: np.ndarray, filters: Sequence[tuple[np.ndarray, np.ndarray]]
    ):
        self._embeddings = np.pad(embeddings, [(1, 0), (0, 0)])  # ids are from 1 on
        self._filters = filters
        self._ids = WordIds(CHARACTERS)

    def __call__(self, tokens: Sequence[str]) -> np.ndarray:
        """`(tokens, dim)`; a word has the same vector among any others."""
        index = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
        ids, _ = self._ids([token.encode() for token in index])
        parts = np.split(ids, range(_AT_ONCE, len(ids), _AT_ONCE))
        vectors = np.concatenate([*map(self._encode, parts)])
        return vectors[[index[token] for token in tokens]]

    def _encode(self, ids):
        x = self._embeddings[ids]  # (words, characters, size)
        parts = []
        for kernel, bias in self._filters:
            ngrams = sliding_window_view(x, len(kernel), axis=1).swapaxes(2, 3)
            ngrams = ngrams.reshape(*ngrams.shape[:2], -1)
            product = ngrams @ kernel.reshape(-1, len(bias))  # one for each word
            parts.append(product.max(axis=1) + bias)
        return np.maximum(np.concatenate(parts, axis=1), 0)
