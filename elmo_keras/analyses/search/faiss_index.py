"""Search through an index of faiss, which is made once and kept in a file."""

import errno
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import faiss
import numpy as np

from elmo_keras.analyses.search.exact_index import ROWS_AT_ONCE
from elmo_keras.analyses.search.metadata import (
    ADVICE,
    check_metadata,
    read_metadata,
    write_metadata,
)
from elmo_keras.files import OtherRun, only_process, replacing
from elmo_keras.progress import Progress

if TYPE_CHECKING:
    from elmo_keras.analyses.search.parquet_sentences import ParquetSentences

TRAINED_ON = 64  # vectors for each list of an IVF
LISTS = 1024  # an index without lists is trained as one with as many
SHARE_OF_LISTS, FEWEST_LISTS = 1 / 16, 16  # that a query searches


class FaissIndex:
    """The sentences near a query, by a file that `make_index` made.

    It is mapped into memory, so that it opens at once. A query searches `nprobe` lists
    of an index with IVF, by default a sixteenth of them and at least 16. faiss can crash
    on a file that is made to harm.
    """

    def __init__(self, path: Path, nprobe: int | None = None):
        metadata = read_metadata(path)
        # faiss would crash on a mapped file that is cut short.
        if path.stat().st_size != metadata.get("bytes"):
            raise OtherRun(f"{path} is damaged. {ADVICE}")
        self._mean = np.array(metadata["mean"], np.float32)
        try:
            flags = faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY
            self.faiss = faiss.read_index(str(path), flags)
        except RuntimeError as error:
            raise OtherRun(f"{path} should be an index. {ADVICE} {error}") from error
        if ivf := faiss.try_extract_index_ivf(self.faiss):
            default = max(FEWEST_LISTS, round(SHARE_OF_LISTS * ivf.nlist))
            ivf.nprobe = min(ivf.nlist, nprobe or default)

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and cosines, the closest first; fewer than `top` if the lists hold fewer."""
        unit = _unit(query[None], self._mean)
        (cosines,), (rows,) = self.faiss.search(unit, top)
        exists = rows >= 0
        return rows[exists], cosines[exists]


def new_index(dim: int, description: str) -> faiss.Index:
    """An index for cosines without vectors, such as "IVF1024,SQ8", which takes ids."""
    try:
        index = faiss.index_factory(dim, description, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        raise ValueError(
            f"--index should describe an index that faiss makes of vectors of {dim} "
            f"numbers, such as Flat or IVF1024,SQ8. Received: {description}. {error}"
        ) from error
    return index if isinstance(index, faiss.IndexIVF) else faiss.IndexIDMap(index)


def make_index(
    vectors: "np.ndarray | ParquetSentences",
    path: Path,
    description: str,
    fingerprint: str,
    *,
    center: bool = False,
    overwrite: bool = False,
) -> None:
    """Makes the file of a `FaissIndex`, unless it exists.

    `vectors` `(sentences, dim)` are read a block at a time, and `fingerprint` tells them
    from others. One that is 0, of a sentence without tokens, is never found. `center`
    subtracts the mean of all.
    """
    metadata = {
        "vectors": fingerprint,
        "rows": len(vectors),
        "index": description,
        "center": center,
    }
    lock = path.with_name(f"{path.name}.unfinished")
    refusal = f"Another process makes {path}. Wait for it."
    if overwrite or not path.exists():
        with only_process(lock, refusal):
            try:
                if overwrite or not path.exists():
                    _write_index(vectors, path, metadata)
            finally:
                shutil.rmtree(lock, ignore_errors=True)
    check_metadata(path, metadata)


def _write_index(vectors, path, metadata):
    index = new_index(vectors.shape[1], metadata["index"])
    mean = _train(index, vectors, center=metadata["center"])
    with Progress(total=len(vectors), unit=" rows") as progress:
        for first in range(0, len(vectors), ROWS_AT_ONCE):
            rows = vectors[first : first + ROWS_AT_ONCE]
            real = np.flatnonzero(rows.any(axis=1))
            index.add_with_ids(_unit(rows[real], mean), first + real)
            progress.update(len(rows))
    with replacing(path) as temporary:
        try:
            faiss.write_index(index, str(temporary))
        except RuntimeError as error:
            raise OSError(errno.EIO, str(error), str(path)) from error
        metadata |= {"mean": mean.tolist(), "bytes": temporary.stat().st_size}
        path.unlink(missing_ok=True)  # an index never has the metadata of another
        write_metadata(path, metadata)


def _train(index, vectors, *, center):
    """Trains an index on a sample of the vectors; returns what is subtracted from all."""
    ivf = faiss.try_extract_index_ivf(index)
    n_sampled = TRAINED_ON * (ivf.nlist if ivf else LISTS)
    step = max(1, len(vectors) // n_sampled)
    total, n_real, sample = np.zeros(vectors.shape[1]), 0, []
    for first in range(0, len(vectors), ROWS_AT_ONCE):
        rows = vectors[first : first + ROWS_AT_ONCE]
        total += rows.sum(axis=0, dtype=np.float64)
        n_real += np.count_nonzero(rows.any(axis=1))
        sampled = rows[-first % step :: step]
        sample.append(sampled[sampled.any(axis=1)])
    mean = (center * total / max(1, n_real)).astype(np.float32)
    if not index.is_trained:
        sample = np.concatenate(sample)
        try:
            index.train(_unit(sample, mean))
        except RuntimeError as error:
            raise ValueError(
                f"{len(sample):,} sentences are too few to train this index. {error}"
            ) from error
    return mean


def _unit(rows, mean):
    rows = np.asarray(rows, np.float32) - mean
    faiss.normalize_L2(rows)
    return rows
