"""Exact search for sentences by their mean vectors."""

import numpy as np

ROWS_AT_ONCE = 2**14


class SearchIndex:
    """The mean vectors of sentences, searched by cosine.

    Args:
        vectors: `(sentences, dim)`, a memory map if there are many; 0 for a sentence
            without tokens, which is never found.
        center: whether to subtract the mean of all sentences first. Mean vectors share
            what every sentence has, such as articles and a full stop, so that their
            cosines are all near 1; the difference from the mean is what distinguishes a
            sentence.
    """

    def __init__(self, vectors: np.ndarray, center: bool = False):
        self.vectors = vectors
        self.real = np.concatenate([np.zeros(0, bool), *self._of_all(_any)])
        self.mean = np.zeros(vectors.shape[1], np.float32)
        if center:
            sums = self._of_all(lambda rows: rows.sum(axis=0, dtype=np.float64))
            self.mean += np.sum([self.mean, *sums], axis=0) / max(1, self.real.sum())
        self.norms = np.concatenate([np.zeros(0), *self._of_all(self._norms)])

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """The sentences closest to a query."""
        query = np.asarray(query - self.mean, np.float32)
        # `(rows - mean) @ query` would copy all rows.
        products = self._of_all(lambda rows: _float32(rows) @ query)
        cosines = np.concatenate([np.zeros(0), *products]) - self.mean @ query
        cosines /= np.maximum(self.norms * np.linalg.norm(query), 1e-12)
        cosines[~self.real] = -np.inf
        top = min(top, self.real.sum())
        order = np.argpartition(-cosines, top - 1)[:top] if top else np.zeros(0, int)
        order = order[np.lexsort((order, -cosines[order]))]
        return order, cosines[order]

    def _of_all(self, function):
        for first in range(0, len(self.vectors), ROWS_AT_ONCE):
            yield function(self.vectors[first : first + ROWS_AT_ONCE])

    def _norms(self, rows):
        return np.linalg.norm(_float32(rows) - self.mean, axis=1)


def _float32(rows):
    return rows.astype(np.float32, copy=False)


def _any(rows):
    return rows.any(axis=1)
