"""Exact search for sentences by their mean vectors."""

import numpy as np

ROWS_AT_ONCE = 2**14


class ExactIndex:
    """The mean vectors of sentences `(sentences, dim)`, searched by cosine.

    A sentence without tokens, whose vector is 0, is never found. `center` subtracts the
    mean of all sentences: what they have in common, such as articles and a full stop,
    brings all cosines near 1.
    """

    def __init__(self, vectors: np.ndarray, center: bool = False):
        self.vectors = vectors
        self.real = self._by_rows(lambda rows: rows.any(axis=1)) > 0
        self.mean = np.zeros(vectors.shape[1], np.float32)
        if center:
            total = vectors.sum(axis=0, dtype=np.float64)
            self.mean += total / max(1, self.real.sum())
        self.norms = self._by_rows(
            lambda rows: np.linalg.norm(rows - self.mean, axis=1)
        )

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and cosines, the closest first."""
        query = np.asarray(query - self.mean, np.float32)
        # `(rows - mean) @ query` would copy all rows.
        cosines = self._by_rows(lambda rows: rows @ query) - self.mean @ query
        cosines /= np.maximum(self.norms * np.linalg.norm(query), 1e-12)
        cosines[~self.real] = -np.inf
        top = min(top, self.real.sum())
        order = np.argpartition(-cosines, top - 1)[:top] if top else np.zeros(0, int)
        order = order[np.lexsort((order, -cosines[order]))]
        return order, cosines[order]

    def _by_rows(self, function):
        """A value of each row, computed block by block in float32."""
        values = np.empty(len(self.vectors))
        for first in range(0, len(values), ROWS_AT_ONCE):
            rows = self.vectors[first : first + ROWS_AT_ONCE]
            rows = rows.astype(np.float32, copy=False)
            values[first : first + len(rows)] = function(rows)
        return values
