"""Makes the file of an approximate index."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from elmo_keras.analyses.search.approximate_index import opened, unit_rows
from elmo_keras.analyses.search.cells import (
    ITERATIONS,
    Vectors,
    add_rows,
    blocks,
    empty_index,
    sample_of,
    train,
    usual_number,
)
from elmo_keras.analyses.search.noted_file import add_note, note_of
from elmo_keras.cli.progress import Progress
from elmo_keras.cli.replacing import replacing

SAVED_ROWS = 2**18  # the first time; then whenever half as many again are added


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
    with Progress(total=len(vectors), unit=" rows", disable=not verbose) as progress:
        if not (
            build.find_centroids(progress, stop) and build.add_rows(progress, stop)
        ):
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
    """An index that grows: first its centers, then its rows."""

    def __init__(self, vectors, work, made_of, *, stamps):
        self._vectors, self._work = vectors, work
        if work.exists():
            self._note = note_of(work)
            # Earlier versions saved centroids between their iterations.
            trained = self._note.get("iterations", ITERATIONS) == ITERATIONS
            self._index = opened(work) if trained else None
        else:
            self._note = {"made_of": made_of, "stamps": stamps}
            self._note |= {"mean": None, "done": 0}
            self._index = None

    def find_centroids(self, progress, stop):
        if self._index is None:
            sample = self._sample()
            progress.set_description(f"centroids of {self._index.nlist:,} lists")
            with progress.paused():
                train(self._index, sample)
            progress.set_description()
            self._save()
        return not stop()

    def _sample(self):
        """Unit vectors to compute centroids from; also makes the index."""
        n_cells = usual_number(len(self._vectors))
        sample, mean = sample_of(self._vectors, n_cells)
        if not self._note["made_of"]["center"]:
            mean[:] = 0
        if not len(sample):
            sample = np.ones((1, len(mean)), np.float32)
        self._note["mean"] = mean.tolist()
        self._index = empty_index(len(mean), min(n_cells, len(sample)))
        return unit_rows(sample - mean)

    def add_rows(self, progress, stop):
        mean, n_rows = np.array(self._note["mean"], np.float32), len(self._vectors)
        saved = begun = self._note["done"]
        progress.skip(begun)
        for first, rows in blocks(self._vectors, begun):
            add_rows(self._index, first, rows, mean=mean)
            done = self._note["done"] = first + len(rows)
            progress.update(len(rows))
            stopped = stop() and done < n_rows
            if stopped or done - saved >= max(SAVED_ROWS, saved // 2):
                self._save()
                saved = done
            if stopped:
                return False
        self._save()
        return True

    def _save(self):
        with replacing(self._work) as temporary:
            try:
                faiss.write_index(self._index, str(temporary))
            except RuntimeError as error:
                raise OSError(errno.EIO, str(error), str(self._work)) from error
            add_note(temporary, self._note)
