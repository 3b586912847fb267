"""Whether the scores of a pipeline are the shares of right answers, and what mends them."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

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


def sampling_error(scores: np.ndarray, *, rounds: int = 200) -> float:
    """The mean calibration error of as many answers whose scores are exactly right.

    A measured error of this size says nothing against the scores.
    """
    rng, n = np.random.default_rng(0), len(scores)
    draws = (rng.random(n) < scores for _ in range(rounds))
    return float(np.mean([calibration_error(scores, right) for right in draws]))


def fit_odds(scores: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """The `score_slope` and `score_bias` at which scores have the lowest log loss.

    Reference: Platt 1999.
    """
    if len({*right}) < 2:
        return 1.0, 0.0
    odds = logit(np.clip(scores, 1e-6, 1 - 1e-6))[:, None]
    fit = LogisticRegression(C=np.inf).fit(odds, right)
    return round(float(fit.coef_[0, 0]), 3), round(float(fit.intercept_[0]), 3)


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
