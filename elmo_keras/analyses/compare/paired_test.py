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

from elmo_keras.cli.markdown_table import markdown_table
from elmo_keras.cli.progress import Progress

Score = Callable[[Sequence], float]


class Outcome(NamedTuple):
    difference: float  # the second variant's mean score less the first one's
    p: float  # the probability of one at least as large if there were none


def paired_test(
    first: Sequence[Sequence],
    second: Sequence[Sequence],
    scores: Sequence[Score],
    *,
    shuffles: int = 1000,
) -> Outcome:
    """Tests two variants' predictions, for each seed a list of one for each example.

    `scores` compute the score of such a list, for each seed.

    >>> right, wrong = [[1] * 20], [[1, 0] * 10]
    >>> paired_test(wrong, right, [lambda some: sum(some) / 20], shuffles=99)
    Outcome(difference=0.5, p=0.01)
    """
    found = _difference(first, second, scores)
    rng = np.random.default_rng(0)
    as_large = 1
    for _ in Progress(range(shuffles), unit=" exchanges"):
        exchanged = rng.random(len(first[0])) < 0.5
        pairs = [_exchanged(a, b, exchanged) for a, b in zip(first, second)]
        other = _difference(*zip(*pairs), scores)
        as_large += abs(other) >= abs(found) - 1e-12  # sums in another order
    return Outcome(found, as_large / (shuffles + 1))


def _difference(first, second, scores):
    by_seed = [score(b) - score(a) for score, a, b in zip(scores, first, second)]
    return float(np.mean(by_seed))


def _exchanged(first, second, exchanged):
    pairs = [(b, a) if e else (a, b) for a, b, e in zip(first, second, exchanged)]
    return tuple(map(list, zip(*pairs)))


def outcomes_table(tests: Sequence[tuple[str, str, Outcome]]) -> str:
    rows = [
        (first, second, f"{100 * found.difference:+.2f}", f"{found.p:.3f}")
        for first, second, found in tests
    ]
    return markdown_table(["variant", "and", "difference", "p"], rows, n_left=2)
