"""Scores that are the shares of right answers."""

import numpy as np
import pytest

from tools.calibration import calibration_error, fit_temperature


def test_the_temperature_that_scores_need_is_found():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 4000)
    right = rng.random(4000) < 1 / (1 + np.exp(-logits))

    def answer(temperature):  # of a model that is three times too sure
        p = 1 / (1 + np.exp(-3 * logits / temperature))
        return np.maximum(p, 1 - p), right == (p > 0.5)

    found = fit_temperature(answer)
    assert found == pytest.approx(3, abs=0.2)
    before, after = (calibration_error(*answer(t)) for t in (1.0, found))
    assert after < 0.02 < 0.05 < before


def test_the_error_is_that_of_the_bins():
    scores, right = np.array([0.5, 0.7, 0.69, 1.0]), np.array([0, 1, 0, 1])
    # Of two answers in one bin, the mean score is beside the share of right ones.
    expected = (0.5 + abs(0.7 + 0.69 - 1) + 0) / 4
    assert calibration_error(scores, right) == pytest.approx(expected)
