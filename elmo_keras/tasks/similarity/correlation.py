"""Correlation of two rows of numbers."""

from collections.abc import Sequence

import numpy as np


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's r, from −1 to 1; 0 where one of the rows is constant.

    Args:
        x, y: rows of the same length.

    Example:

    >>> round(pearson([1, 2, 3], [1, 3, 2]), 12)
    0.5
    """
    x, y = (np.asarray(row, float) for row in (x, y))
    # A constant's mean may be off by a rounding error, which must not count.
    if not len(x) or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's ρ: Pearson's r of the ranks, those of ties averaged."""
    return pearson(ranks(x), ranks(y))


def ranks(x: Sequence[float]) -> np.ndarray:
    """The place of each number in order, from 1; equal ones share their mean place.

    Example:

    >>> ranks([3.0, 1.0, 3.0, 2.0]).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    _, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[index]
