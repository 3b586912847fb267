"""Makes the file of an approximate index."""

import errno
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from elmo_keras.analyses.search.approximate_index import new_index, opened, unit_rows
from elmo_keras.analyses.search.noted_file import add_note, note_of
from elmo_keras.analyses.search.search_index import ROWS_AT_ONCE
from elmo_keras.cli.replacing import replacing
from elmo_keras.cli.status_line import StatusLine, duration

SAVED_ROWS = 2**18  # the first time; then whenever half as many again are added


class Vectors(Protocol):
    """An array of rows, or what reads rows like one: `ParquetVectors`, a memory map."""

    shape: tuple[int, int]

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice) -> np.ndarray: ...


def make_approximate_index(
    vectors: Vectors,
    path: Path,
    made_of: dict[str, Any],
    *,
    center: bool = False,
    overwrite: bool = False,
    verbose: int = 0,
    stop: Callable[[], bool] = lambda: False,
    stamps: Any = None,
) -> bool:
    """Makes the file of an `ApproximateIndex`, unless it exists.

    The file grows as `PATH.unfinished`, which is saved now and then and when the call
    is stopped; the same call resumes from it.

    Args:
        vectors: `(sentences, dim)`, read a block at a time; 0 for a sentence without
            tokens, which is never found.
        path: the file.
        made_of: JSON values that tell these vectors from others, such as a digest.
        center: whether to subtract the mean of all sentences, as in `SearchIndex`.
        overwrite: whether to replace an index that exists, as soon as the new one is
            finished, and to discard an unfinished one of other vectors.
        verbose: 1 for a progress line on standard error.
        stop: called after every block; the call ends if it returns True.
        stamps: JSON values for `known_digest`.

    Returns:
        Whether the index is finished. If not, the same call resumes.

    Raises:
        ValueError: the file is the index of other vectors, or no index.
        OSError: the file can't be written; what was saved is kept.
    """
    made_of = made_of | {"rows": len(vectors), "center": center}
    if path.exists() and not overwrite:
        _check(path, made_of)
        return True
    work = unfinished(path)
    if work.exists():
        _resumable(work, made_of, overwrite=overwrite)
    build = _Build(vectors, work, made_of, stamps=stamps)
    if not build.run(StatusLine(sys.stderr, bool(verbose)), stop):
        return False
    work.replace(path)
    return True


def unfinished(path: Path) -> Path:
    """Where an index grows."""
    return path.with_name(f"{path.name}.unfinished")


def known_digest(path: Path, stamps: Any) -> str | None:
    """The digest of vectors whose files have not been written since an index was made.

    Args:
        path: the file of the index.
        stamps: what changes when a file of vectors is written.

    Returns:
        `made_of["vectors"]` of the index, or of the unfinished one, if it was made
        with these stamps; None otherwise.
    """
    for file in filter(Path.exists, (path, unfinished(path))):
        note = note_of(file)
        if note.get("stamps") == stamps:
            return note["made_of"].get("vectors")
    return None


def _check(path, made_of):
    found = note_of(path)["made_of"]
    differ = [name for name, value in made_of.items() if found.get(name) != value]
    if differ:
        raise ValueError(
            f"{path} is the approximate index of other vectors: {' and '.join(differ)} "
            "differ. --overwrite makes it anew."
        )


def _resumable(work, made_of, *, overwrite):
    """Removes an unfinished index of other vectors if it may be overwritten."""
    try:
        _check(work, made_of)
    except ValueError:
        if not overwrite:
            raise
        work.unlink()


class _Build:
    """An index that grows block by block."""

    def __init__(self, vectors, work, made_of, *, stamps):
        self._vectors, self._work = vectors, work
        if work.exists():
            self._note, self._index = note_of(work), opened(work, view=False)
            return
        mean = _mean(vectors) if made_of["center"] else np.zeros(vectors.shape[1])
        self._note = {"made_of": made_of, "mean": mean.tolist(), "done": 0}
        self._note |= {"stamps": stamps}
        self._index = new_index(vectors.shape[1])

    def run(self, line, stop):
        """Adds all rows; returns False if it was stopped before."""
        saved = first = self._note["done"]
        start = time.perf_counter()
        while self._note["done"] < len(self._vectors):
            self._add_block()
            done = self._note["done"]
            if line.due:
                line.show(_progress(first, done, len(self._vectors), start=start))
            if stop() or done - saved >= max(SAVED_ROWS, saved // 2):
                self._save()
                saved = done
            if stop():
                line.end()
                return done == len(self._vectors)
        line.end()
        self._save()
        return True

    def _add_block(self):
        first = self._note["done"]
        rows = self._vectors[first : first + ROWS_AT_ONCE]
        real = np.flatnonzero(rows.any(axis=1))
        mean = np.array(self._note["mean"], np.float32)
        if len(real):
            self._index.add(first + real, unit_rows(rows[real] - mean))
        self._note["done"] = first + len(rows)

    def _save(self):
        with replacing(self._work) as temporary:
            try:
                self._index.save(temporary)
            except RuntimeError as error:
                raise OSError(errno.EIO, str(error), str(self._work)) from error
            add_note(temporary, self._note)


def _mean(vectors):
    """The mean of all rows that are not 0."""
    total, count = np.zeros(vectors.shape[1]), 0
    for first in range(0, len(vectors), ROWS_AT_ONCE):
        rows = vectors[first : first + ROWS_AT_ONCE]
        total += rows.sum(axis=0, dtype=np.float64)
        count += np.count_nonzero(rows.any(axis=1))
    return total / max(1, count)


def _progress(first, done, total, *, start):
    rate = (done - first) / (time.perf_counter() - start)
    left = duration((total - done) / rate)
    return f"{done / total:4.0%}", f"{done:,} rows", f"{rate:,.0f}/s", f"{left} left"
