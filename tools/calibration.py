"""Whether the scores of a pipeline are the shares of right answers, and what mends them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

_N_BINS = 15
_LEAST, _MOST = 0.25, 8.0  # temperatures


class Bin(NamedTuple):
    """Answers with scores up to `most`, their mean score, and the share of right ones."""

    most: float
    n_answers: int
    score: float
    right: float


def reliability(
    scores: np.ndarray,
    right: np.ndarray,
    edges: Sequence[float] = (0.6, 0.8, 0.9, 0.99, 1.0),
) -> list[Bin]:
    """The answers in bins by their scores; empty ones are left out.

    Args:
        scores: probabilities `(answers,)`.
        right: whether each answer is right.
        edges: the highest score of each bin, rising, the last one 1.
    """
    index = np.searchsorted(edges, scores)
    parts = [(edge, index == i) for i, edge in enumerate(edges)]
    return [
        Bin(
            edge, int(part.sum()), float(scores[part].mean()), float(right[part].mean())
        )
        for edge, part in parts
        if part.any()
    ]


def calibration_error(scores: np.ndarray, right: np.ndarray) -> float:
    """The expected calibration error, in 15 bins of the same width.

    Reference: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 2.
    """
    bins = reliability(scores, right, np.linspace(0, 1, _N_BINS + 1)[1:].tolist())
    return sum(b.n_answers * abs(b.score - b.right) for b in bins) / len(scores)


def fit_temperature(
    answer: Callable[[float], tuple[np.ndarray, np.ndarray]],
) -> float:
    """The temperature at which a head's scores have the lowest log loss.

    Answers stay the same at all temperatures, but for those of models with `multi_label`,
    whose threshold is one of scores. `save_head(…, temperature=…)` keeps the number.

    Args:
        answer: gives the scores on held-out text of a pipeline whose head was saved with
            a temperature, and whether each answer is right: `(answers,)`, see
            `reliability`.

    Reference: Guo et al. 2017, section 4.2.
    """

    def loss(logarithm):
        scores, right = answer(float(np.exp(logarithm)))
        p = np.where(right, scores, 1 - scores)
        return -np.log(np.maximum(p, 1e-7)).mean()

    bounds, options = np.log([_LEAST, _MOST]), {"xatol": 0.01}
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options=options)
    return round(float(np.exp(found.x)), 3)
