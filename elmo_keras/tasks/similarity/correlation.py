"""Correlation of two series of numbers."""

# scipy.stats gives the same numbers, but takes half a second to import, and for a
# constant series it warns and gives NaN.

from collections.abc import Sequence

import numpy as np


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's r, from −1 to 1; 0 if one of the series is constant."""
    x, y = (np.asarray(series, float) for series in (x, y))
    # An exact check: the mean of a constant may have a rounding error.
    if not len(x) or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's ρ: Pearson's r of the ranks."""
    return pearson(ranks(x), ranks(y))


def ranks(x: Sequence[float]) -> np.ndarray:
    """The rank of each number, from 1; ties have their mean rank."""
    _, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[index]
