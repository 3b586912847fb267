"""The vectors of words, computed once and kept from one call to the next."""

import itertools
import threading
from collections.abc import Sequence

import numpy as np

from elmo_keras.embed.engines.engine import Engine
from elmo_keras.text.word_ids import boundary_tokens

BEGIN, END = 0, 1  # ids of the boundaries
N_BOUNDARIES = 2
WORDS_AT_ONCE = 1024


class WordVectors:
    """Word ids and their context-independent vectors, a table of `cache_bytes` at a time.

    Several threads can use it. Words are computed with those that got their ids together
    with them: the last digits of a vector may depend on the words that it is computed
    with, and so they are the same in a run that resumes.
    """

    def __init__(self, engine: Engine, cache_bytes: int):
        word_bytes = engine.config.projection_dim * np.dtype(np.float32).itemsize
        self._engine, self._max_words = engine, max(1, cache_bytes // word_bytes)
        self._lock, self._table = threading.Lock(), None

    def encode(
        self, sentences: Sequence[Sequence[bytes]]
    ) -> tuple["WordTable", list[np.ndarray]]:
        """A table of the words of all these sentences, and their ids with boundaries."""
        with self._lock:
            if self._table is None or len(self._table.ids) >= self._max_words:
                self._table = WordTable(self._engine)
            return self._table, self._table.add(sentences)


class WordTable:
    def __init__(self, engine: Engine):
        config = engine.config
        self.ids: dict[bytes, int] = {}
        self._boundaries = [token.encode() for token in boundary_tokens(config)]
        self._vectors = np.empty((0, config.projection_dim), engine.word_dtype)
        self._compute, self._n_computed, self._waiting = engine.word_vectors, 0, []
        self._lock = threading.Lock()

    def add(self, sentences: Sequence[Sequence[bytes]]) -> list[np.ndarray]:
        before, add = len(self.ids), self.ids.setdefault
        for word in self._boundaries:
            add(word, len(self.ids))
        word_ids = [
            np.array(
                [BEGIN, *(add(word, len(self.ids)) for word in sentence), END], np.int32
            )
            for sentence in sentences
        ]
        with self._lock:
            self._waiting.append(list(itertools.islice(self.ids, before, None)))
        return word_ids

    def vectors(self, word_ids: np.ndarray) -> np.ndarray:
        with self._lock:
            for words in self._waiting:
                self._add_vectors(words)
            self._waiting.clear()
            return self._vectors[word_ids]

    def _add_vectors(self, words):
        n_missing = self._n_computed + len(words) - len(self._vectors)
        if n_missing > 0:
            shape = max(n_missing, len(self._vectors)), self._vectors.shape[1]
            room = np.empty(shape, self._vectors.dtype)
            self._vectors = np.concatenate([self._vectors, room])
        # A chunk takes as long as its longest word does.
        order = np.argsort([len(word) for word in words], kind="stable")
        for first in range(0, len(words), WORDS_AT_ONCE):
            chunk = order[first : first + WORDS_AT_ONCE]
            vectors = self._compute([words[i] for i in chunk])
            self._vectors[self._n_computed + chunk] = vectors
        self._n_computed += len(words)
