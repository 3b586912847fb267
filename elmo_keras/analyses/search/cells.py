"""The cells of an approximate index: centers of vectors, by k-means."""

from collections.abc import Iterator
from typing import Protocol

import faiss
import numpy as np

from elmo_keras.analyses.search.approximate_index import unit_rows
from elmo_keras.analyses.search.search_index import ROWS_AT_ONCE

ROWS_OF_CELL = 256  # on average
MAX_CELLS = 2**16
TRAINED_ON = 64  # rows a cell that the centers are computed from
ITERATIONS = 10


class Vectors(Protocol):
    """An array of rows, or what reads rows like one: `ParquetVectors`, a memory map."""

    shape: tuple[int, int]

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice) -> np.ndarray: ...


def blocks(vectors: Vectors, first: int = 0) -> Iterator[tuple[int, np.ndarray]]:
    """The numbers of the first rows of blocks, and the blocks."""
    for start in range(first, len(vectors), ROWS_AT_ONCE):
        yield start, vectors[start : start + ROWS_AT_ONCE]


def usual_number(n_rows: int) -> int:
    """How many cells these rows should have."""
    return min(MAX_CELLS, max(1, n_rows // ROWS_OF_CELL))


def empty_index(dim: int, n_cells: int) -> faiss.IndexIVF:
    """An index without rows, whose cells have no centers yet."""
    kind = f"IVF{n_cells},SQfp16"
    index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    # float16 holds a difference from a center ten times as exactly as the vector.
    index.by_residual = True
    return index


def sample_of(vectors: Vectors, n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to compute centers from, always the same ones, and the mean of all rows.

    Args:
        vectors: the rows; those that are 0 don't count.
        n_cells: the number of centers.

    Returns:
        `(rows, dim)` and `(dim,)`, in float32.
    """
    number = min(len(vectors), TRAINED_ON * n_cells)
    chosen = np.random.default_rng(0).choice(len(vectors), number, replace=False)
    chosen.sort()
    total, count, some = np.zeros(vectors.shape[1]), 0, []
    for first, rows in blocks(vectors):
        total += rows.sum(axis=0, dtype=np.float64)
        count += np.count_nonzero(rows.any(axis=1))
        a, b = np.searchsorted(chosen, [first, first + len(rows)])
        some.append(rows[chosen[a:b] - first].astype(np.float32))
    some = np.concatenate([np.zeros((0, vectors.shape[1]), np.float32), *some])
    return some[some.any(axis=1)], (total / max(1, count)).astype(np.float32)


def train(index: faiss.IndexIVF, sample: np.ndarray) -> None:
    """Computes the centroids of unit vectors, `(rows, dim)`, at least one for a list."""
    index.cp.niter, index.cp.spherical = ITERATIONS, True
    index.cp.min_points_per_centroid = 1  # no warning
    index.cp.max_points_per_centroid = TRAINED_ON
    index.train(sample)


def add_rows(
    index: faiss.IndexIVF, first: int, rows: np.ndarray, *, mean: np.ndarray
) -> None:
    """Adds rows to the cells of their nearest centers, without those that are 0.

    Args:
        index: has its centers.
        first: the number of the first row.
        rows: `(rows, dim)`.
        mean: what is subtracted from them.
    """
    real = np.flatnonzero(rows.any(axis=1))
    index.add_with_ids(unit_rows(rows[real] - mean), first + real)
