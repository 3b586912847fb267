"""An approximate index of mean vectors, for millions of sentences."""

from pathlib import Path

import faiss
import numpy as np

from elmo_keras.analyses.search.index_note import ADVICE, note_path, read_note
from elmo_keras.util.fingerprint import OtherRun

SHARE_OF_LISTS, FEWEST_LISTS = 1 / 16, 16  # that a query searches


class ApproximateIndex:
    """The sentences near a query, found without comparing it with all of them.

    It is faiss's IVF: the unit vectors are divided into lists by their nearest centroid
    (k-means), and a query is compared with the sentences in the `cells` lists nearest to
    it, by default a sixteenth and at least 16. Cosines are right up to about 1e-5, since
    float16 holds the differences from the centroids. The file is mapped into memory, so
    that it opens at once. faiss can crash on a file that is made to harm.
    """

    def __init__(self, path: Path, cells: int | None = None):
        # faiss would crash on a mapped file that is cut short.
        if path.stat().st_size != read_note(path).get("bytes"):
            raise OtherRun(
                f"{path} is damaged, or not the index that {note_path(path).name} "
                f"beside it describes. {ADVICE}"
            )
        self._index = opened(path, faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
        ivf = faiss.extract_index_ivf(self._index)
        self.n_lists = ivf.nlist
        usual = max(FEWEST_LISTS, round(SHARE_OF_LISTS * ivf.nlist))
        ivf.nprobe = min(ivf.nlist, cells or usual)

    def __len__(self) -> int:
        return self._index.ntotal

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices and cosines, the closest first; fewer than `top` if the lists hold fewer."""
        query = np.asarray(query, np.float32)[None]
        (cosines,), (indices,) = self._index.search(query, top)
        found = indices >= 0
        return indices[found], cosines[found]


def opened(path: Path, flags: int = 0) -> faiss.Index:
    """The index in a file, read with flags of faiss; ValueError if there is none."""
    try:
        index = faiss.read_index(str(path), flags)
        faiss.extract_index_ivf(index)
    except RuntimeError as error:
        raise ValueError(f"{path} should be an approximate index. {error}") from error
    return index
