"""Makes the file of an approximate index."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from elmo_keras.analyses.search.approximate_index import opened
from elmo_keras.analyses.search.index_note import (
    check_note,
    note_path,
    unfinished,
    write_note,
)
from elmo_keras.analyses.search.search_index import ROWS_AT_ONCE
from elmo_keras.util.fingerprint import OtherRun
from elmo_keras.util.progress import Progress
from elmo_keras.util.replacing import replacing

ROWS_OF_LIST = 256  # on average
MAX_LISTS = 2**16
TRAINED_ON = 64  # rows a list that the centroids are computed from
ITERATIONS = 10
SAVED_ROWS = 2**18  # the first time; then whenever half as many again are added


def make_approximate_index(
    vectors: np.ndarray,
    path: Path,
    made_of: dict[str, Any],
    *,
    center: bool = False,
    overwrite: bool = False,
    stop: Callable[[], bool] = lambda: False,
    files: Any = None,
) -> bool:
    """Makes the file of an `ApproximateIndex`, unless it exists; returns whether it is finished.

    `vectors` `(sentences, dim)` is sliced like an array, a block at a time; 0 is a sentence
    without tokens, which is never found. `made_of` tells them from others, and `files` are
    for the note. The file grows as `PATH.unfinished`, saved now and then and when `stop`
    returns True; the same call resumes.
    """
    made_of = made_of | {"rows": len(vectors), "center": center}
    if path.exists() and not overwrite:
        check_note(path, made_of)
        return True
    work = unfinished(path)
    if work.exists():
        try:
            check_note(work, made_of)
        except OtherRun:
            if not overwrite:
                raise
            work.unlink()
    if not work.exists():
        write_note(work, made_of | {"files": files})
    with Progress(total=len(vectors), unit=" rows") as progress:
        if not _grow(work, vectors, center=center, progress=progress, stop=stop):
            return False
    about = made_of | {"files": files, "bytes": work.stat().st_size}
    path.unlink(missing_ok=True)  # an index never has the note of another
    write_note(path, about)
    work.replace(path)
    note_path(work).unlink()
    return True


def _grow(work, vectors, *, center, progress, stop) -> bool:
    """Adds the rows that an index lacks; returns False if it was stopped before the end."""
    if work.exists():
        index = opened(work)
    else:
        progress.set_description("centroids")
        with progress.paused():
            index = trained_index(vectors, center=center)
        progress.set_description(refresh=False)
        _save(index, work)
    done = saved = _rows_seen(faiss.extract_index_ivf(index))
    progress.skip(done)
    while done < len(vectors):
        stopped = stop()
        if done - saved >= (1 if stopped else max(SAVED_ROWS, saved // 2)):
            _save(index, work)
            saved = done
        if stopped:
            return False
        rows = vectors[done : done + ROWS_AT_ONCE]
        real = np.flatnonzero(rows.any(axis=1))
        index.add_with_ids(rows[real].astype(np.float32), done + real)
        done += len(rows)
        progress.update(len(rows))
    _save(index, work)
    return True


def trained_index(vectors: np.ndarray, *, center: bool) -> faiss.IndexPreTransform:
    """An index with centroids and without rows; it scales rows to length 1 itself."""
    dim, n_lists = vectors.shape[1], min(MAX_LISTS, len(vectors) // ROWS_OF_LIST)
    sample, mean = _sample(vectors, max(1, n_lists))
    n_lists = max(1, min(n_lists, len(sample)))
    kind = f"IVF{n_lists},SQfp16"
    ivf = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    # float16 holds a difference from a centroid ten times as exactly as the vector.
    ivf.by_residual = True
    ivf.cp.niter, ivf.cp.spherical = ITERATIONS, True
    ivf.cp.min_points_per_centroid = 1  # no warning
    ivf.cp.max_points_per_centroid = TRAINED_ON
    index = faiss.IndexPreTransform(faiss.NormalizationTransform(dim, 2.0), ivf)
    if center:
        centering = faiss.CenteringTransform(dim)
        faiss.copy_array_to_vector(mean, centering.mean)
        centering.is_trained = True
        index.prepend_transform(centering)
    index.train(sample if len(sample) else np.ones((1, dim), np.float32))
    return index


def _sample(vectors, n_lists):
    """Rows for k-means, always the same ones, and the mean of all rows that aren't 0."""
    number = min(len(vectors), TRAINED_ON * n_lists)
    chosen = np.random.default_rng(0).choice(len(vectors), number, replace=False)
    chosen.sort()
    total, count = np.zeros(vectors.shape[1]), 0
    some = [np.zeros((0, vectors.shape[1]), np.float32)]
    for first in range(0, len(vectors), ROWS_AT_ONCE):
        rows = vectors[first : first + ROWS_AT_ONCE]
        total += rows.sum(axis=0, dtype=np.float64)
        count += np.count_nonzero(rows.any(axis=1))
        a, b = np.searchsorted(chosen, [first, first + len(rows)])
        some.append(rows[chosen[a:b] - first].astype(np.float32))
    some = np.concatenate(some)
    return some[some.any(axis=1)], (total / max(1, count)).astype(np.float32)


def _rows_seen(ivf):
    """How many rows were added; they come in order, so each list ends in its highest."""
    lists, sizes = ivf.invlists, map(ivf.invlists.list_size, range(ivf.nlist))
    ids = [lists.get_single_id(i, size - 1) for i, size in enumerate(sizes) if size]
    return 1 + max(ids, default=-1)


def _save(index, work):
    with replacing(work) as temporary:
        try:
            faiss.write_index(index, str(temporary))
        except RuntimeError as error:
            raise OSError(errno.EIO, str(error), str(work)) from error
