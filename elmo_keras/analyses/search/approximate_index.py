"""An approximate index of mean vectors, for millions of sentences."""

from pathlib import Path

import numpy as np
from usearch.index import Index

from elmo_keras.analyses.search.noted_file import note_of

DEFAULT_EFFORT = 128


class ApproximateIndex:
    """The sentences near a query, found without comparing it with all of them.

    A search walks through a graph of similar sentences (HNSW, by usearch) from one to
    the next closer one. It finds nearly all of the closest sentences, and their
    cosines are those of float16 vectors. The file is mapped into memory, so that it
    opens at once, and processes share it.

    Args:
        path: a file of `make_approximate_index`. It is read by usearch, which a file
            that is made to harm can crash: open only files whose origin you trust.
        effort: how many sentences a search keeps in view, more of which find more of
            the closest ones.

    Attributes:
        about: what the index was made of.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or another kind of file.
    """

    def __init__(self, path: Path, effort: int = DEFAULT_EFFORT):
        note = note_of(path)
        self.about = note["made_of"]
        self._mean = np.array(note["mean"], np.float32)
        self._index = opened(path, view=True)
        self._index.expansion_search = effort

    def __len__(self) -> int:
        """The number of sentences with a token."""
        return len(self._index)

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """The sentences closest to a query, or nearly so.

        Args:
            query: `(dim,)`.
            top: the number of sentences.

        Returns:
            Their indices and cosines, the closest first.
        """
        if not len(self):
            return np.zeros(0, int), np.zeros(0)
        found = self._index.search(unit_rows(query - self._mean), top)
        indices, cosines = found.keys.astype(int), 1 - found.distances
        order = np.lexsort((indices, -cosines))
        return indices[order], cosines[order]


def new_index(dim: int) -> Index:
    """An index without rows."""
    return Index(ndim=dim, metric="ip", dtype="f16")


def opened(path: Path, *, view: bool) -> Index:
    """The index in a file: mapped into memory, or read in order to be continued.

    Raises:
        ValueError: the file holds none.
    """
    try:
        index = Index.restore(path, view=view)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"{path} should be an approximate index. {error}") from error
    if index is None:
        raise ValueError(f"{path} should be an approximate index.")
    return index


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1, in float32: `(…, dim)`."""
    rows = np.asarray(rows, np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
