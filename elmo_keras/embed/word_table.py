"""The vectors of the words of any sentences, kept from one call to the next."""

import itertools
import threading
from collections.abc import Sequence

import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.embed.batch_vectors import WordVectors
from elmo_keras.embed.numbered_batches import BEGIN, END
from elmo_keras.text.characters import boundary_tokens


class WordTable:
    """The context-independent vectors of words, computed when first met.

    Several threads can use it.

    Args:
        elmo: the layer whose biLM computes them.
        max_words: after this many words, all are forgotten.
        graph_later: see `WordVectors`.
    """

    def __init__(self, elmo: Elmo, max_words: int, graph_later: bool = False):
        self._max_words = max_words
        self._vectors = WordVectors(elmo, graph_later=graph_later)
        boundaries = boundary_tokens(elmo.config)
        self._boundaries = [token.encode() for token in boundaries]
        self._numbers: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def of(self, sentences: Sequence[Sequence[bytes]]) -> np.ndarray:
        """The vectors of sentences, one after another, each with `<S>` and `</S>`.

        Returns:
            `(tokens + 2 · sentences, projection_dim)`.
        """
        with self._lock:
            return self._vectors.of(self._numbered(sentences))

    def _numbered(self, sentences):
        renumbered = not self._numbers or len(self._numbers) >= self._max_words
        if renumbered:
            self._numbers = dict(zip(self._boundaries, (BEGIN, END)))
        known = 0 if renumbered else len(self._numbers)
        numbers = self._numbers
        words = []
        for sentence in sentences:
            words.append(BEGIN)
            words += [numbers.setdefault(token, len(numbers)) for token in sentence]
            words.append(END)
        self._vectors.expect(list(itertools.islice(numbers, known, None)), renumbered)
        return np.array(words, np.int32)
