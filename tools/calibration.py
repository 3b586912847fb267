"""Whether the scores of a pipeline are the shares of right answers, and what mends them."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

_N_BINS = 15
_LEAST, _MOST = 0.25, 8.0  # temperatures


def calibration_error(scores: np.ndarray, right: np.ndarray) -> float:
    """The expected calibration error, in 15 bins of the same width.

    Reference: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 2.
    """
    index = np.searchsorted(np.linspace(0, 1, _N_BINS + 1)[1:], scores)
    bins = (index == i for i in range(_N_BINS))
    errors = (abs((scores[part] - right[part]).sum()) for part in bins)
    return float(sum(errors) / len(scores))


def fit_temperature(
    answer: Callable[[float], tuple[np.ndarray, np.ndarray]],
) -> float:
    """The temperature at which a head's scores have the lowest log loss.

    Answers stay the same at all temperatures, but for those of models with `multi_label`,
    whose threshold is one of scores. `save_head(…, temperature=…)` keeps the number.

    Args:
        answer: gives the scores on held-out text of a pipeline whose head was saved with
            a temperature, and whether each answer is right: `(answers,)`.

    Reference: Guo et al. 2017, section 4.2.
    """

    def loss(logarithm):
        scores, right = answer(float(np.exp(logarithm)))
        p = np.where(right, scores, 1 - scores)
        return -np.log(np.maximum(p, 1e-7)).mean()

    bounds, options = np.log([_LEAST, _MOST]), {"xatol": 0.01}
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options=options)
    return round(float(np.exp(found.x)), 3)
