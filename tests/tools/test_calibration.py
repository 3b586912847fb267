"""Scores that are the shares of right answers."""

import numpy as np
import pytest

from tools.calibration import calibration_error, fit_temperature, reliability


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


def test_bins_have_the_mean_score_and_the_share_of_right_answers():
    scores, right = np.array([0.5, 0.7, 0.99, 1.0]), np.array([0, 1, 1, 0])
    assert reliability(scores, right, (0.75, 0.9, 1.0)) == [
        (0.75, 2, 0.6, 0.5),
        (1.0, 2, 0.995, 0.5),
    ]
    assert calibration_error(scores[:2], right[:2]) == pytest.approx(0.4)
