"""A paired test: is a difference of scores more than an accident of the test set?

If two variants were equally good, each example's predictions could as well have come
from the other variant. So they are exchanged at random, for all seeds at once, many
times; p is the share of exchanges after which the mean scores differ by at least as
much as they do.

Reference: approximate randomization, Noreen 1989; for F1: Yeh 2000.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Outcome(NamedTuple):
    difference: float  # the second variant's mean score less the first one's
    p: float  # the probability of one at least as large if there were none


def paired_test(
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    score: Callable[[np.ndarray], float],
    *,
    shuffles: int = 1000,
) -> Outcome:
    """Tests two variants, for each seed the statistics of each example: (examples, n).

    >>> right, wrong = np.ones((20, 1)), np.array([[1], [0]] * 10)
    >>> paired_test([wrong], [right], np.mean, shuffles=99)
    Outcome(difference=0.5, p=0.01)
    """
    rng = np.random.default_rng(0)

    def difference(exchanged):
        pairs = zip(first, second)
        swapped = [
            (np.where(exchanged, b, a), np.where(exchanged, a, b)) for a, b in pairs
        ]
        return float(np.mean([score(b) - score(a) for a, b in swapped]))

    observed = difference(np.zeros((len(first[0]), 1), bool))
    as_large = 1
    for _ in range(shuffles):
        other = difference(rng.random((len(first[0]), 1)) < 0.5)
        as_large += abs(other) >= abs(observed) - 1e-12  # sums in another order
    return Outcome(observed, as_large / (shuffles + 1))
