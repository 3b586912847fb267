"""An approximate index of mean vectors, for millions of sentences."""

from pathlib import Path

import faiss
import numpy as np

from elmo_keras.analyses.search.noted_file import note_of

SHARE_OF_CELLS, FEWEST_CELLS = 1 / 16, 16  # that a query searches


class ApproximateIndex:
    """The sentences near a query, found without comparing it with all of them.

    The unit vectors are divided into cells around centers (k-means), and a query is
    compared with the sentences in the cells nearest to it. It finds nearly all of the
    closest sentences, and their cosines up to about 1e-5, since float16 holds the
    differences of the vectors from the centers. The file is mapped into memory, so that
    it opens at once, and processes share it.

    Args:
        path: a file of `make_approximate_index`. faiss reads it, which a file that is
            made to harm can crash: open only files whose origin you trust.
        cells: how many cells a query searches, a sixteenth of them by default and at
            least 16. In more of them it finds more of the closest sentences.

    Attributes:
        about: what the index was made of.
        n_cells: how many cells there are, of about 256 sentences each.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or another kind of file.
    """

    def __init__(self, path: Path, cells: int | None = None):
        note = note_of(path)
        self.about = note["made_of"]
        self._mean = np.array(note["mean"], np.float32)
        self._index = opened(path, faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
        self.n_cells = self._index.nlist
        self._index.nprobe = min(self.n_cells, cells or usual_cells(self.n_cells))

    def __len__(self) -> int:
        """The number of sentences with a token."""
        return self._index.ntotal

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """The sentences closest to a query, as far as they are in the cells searched.

        Args:
            query: `(dim,)`.
            top: the number of sentences.

        Returns:
            Their indices and cosines, the closest first; fewer than `top` if the
            cells hold fewer.
        """
        units = unit_rows(query - self._mean)[None]
        (cosines,), (indices,) = self._index.search(units, top)
        found = indices >= 0
        return indices[found], cosines[found]


def usual_cells(n_cells: int) -> int:
    """How many of the cells a query searches by default."""
    return max(FEWEST_CELLS, round(SHARE_OF_CELLS * n_cells))


def opened(path: Path, flags: int = 0) -> faiss.IndexIVF:
    """The index in a file.

    Args:
        path: the file.
        flags: how faiss reads it.

    Raises:
        ValueError: the file holds none.
    """
    try:
        index = faiss.read_index(str(path), flags)
    except RuntimeError as error:
        raise ValueError(f"{path} should be an approximate index. {error}") from error
    if not isinstance(index, faiss.IndexIVF):
        raise ValueError(f"{path} should be an approximate index.")
    return index


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1, in float32: `(…, dim)`."""
    rows = np.asarray(rows, np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
