"""Finds the vectors that are closest to others by their cosine."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

ROWS_AT_ONCE = 2**14
Matches = tuple[np.ndarray, np.ndarray]  # rows and cosines, the closest first


def find(
    vectors: np.ndarray | Sequence[np.ndarray],
    queries: np.ndarray,
    *,
    top: int = 10,
    center: bool = False,
) -> list[Matches]:
    """The vectors that are closest to each query by their cosine.

    Args:
        vectors: `(rows, dim)`, in memory or a memory map; or what `read_embeddings`
            reads, with one vector of each sentence. A vector that is 0, of a sentence
            without tokens, is never a match.
        queries: `(queries, dim)`, or one query `(dim,)`.
        top: at most how many vectors are returned for a query.
        center: whether the mean of all vectors is subtracted, which they have in common
            and which brings all cosines near 1.

    Returns:
        For each query the rows and the cosines, both `(matches,)`, the highest first.

    Raises:
        ValueError: a vector is not finite.

    Example:

    >>> vectors = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    >>> [(rows, cosines)] = find(vectors, np.array([3.0, 0.0]), top=2)
    >>> rows, cosines.round(3)
    (array([1, 2]), array([1.   , 0.707], dtype=float32))
    """
    n_blocks = 1 + len(vectors) // ROWS_AT_ONCE
    index = ExactIndex(np.array_split(np.asarray(vectors), n_blocks), center)
    return [index.closest(query, top) for query in np.atleast_2d(queries)]


class ExactIndex:
    """Unit vectors in memory; a query is compared with each."""

    def __init__(self, blocks: Iterable[np.ndarray], center: bool = False):
        blocks = list(blocks)
        self._mean = mean_vector(blocks) if center else np.float32(0)
        parts = zip(*unit_blocks(blocks, self._mean))
        self._rows, self._unit = map(np.concatenate, parts)

    def closest(self, query: np.ndarray, top: int) -> Matches:
        cosines = self._unit @ unit(query, self._mean)
        order = np.argsort(-cosines, kind="stable")[:top]
        return self._rows[order], cosines[order]


def unit(vectors: np.ndarray, mean: np.ndarray | np.float32) -> np.ndarray:
    """Vectors `(..., dim)` less the mean, divided by their lengths."""
    vectors = np.asarray(vectors, np.float32) - mean
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(norms, 1e-12)


def unit_blocks(
    blocks: Iterable[np.ndarray], mean: np.ndarray | np.float32
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The indices of rows that aren't 0, and their unit vectors, block by block."""
    first = 0
    for block in blocks:
        damaged = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(damaged):
            raise ValueError(
                f"The vector of row {first + damaged[0]:,}, counted from 0, is not finite. "
                "Embed the text again."
            )
        real = np.flatnonzero(block.any(axis=1))
        yield first + real, unit(block[real], mean)
        first += len(block)


def mean_vector(blocks: Iterable[np.ndarray]) -> np.ndarray:
    """The mean of the rows that aren't 0: `(dim,)`."""
    sums = ((b.sum(axis=0, dtype=np.float64), b.any(axis=1).sum()) for b in blocks)
    total, n_real = map(sum, zip(*sums))
    return np.asarray(total / max(1, n_real), np.float32)
