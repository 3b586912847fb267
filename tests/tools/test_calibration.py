"""Scores that are the shares of right answers."""

import numpy as np
import pytest

from tools.calibration import (
    calibration_error,
    fit_odds,
    fit_temperature,
    sampling_error,
)


def test_the_temperature_that_scores_need_is_found():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 4000)
    right = rng.random(4000) < 1 / (1 + np.exp(-logits))

    def answer(temperature):  # of a model that is three times too sure
        p = 1 / (1 + np.exp(-3 * logits / temperature))
        return np.maximum(p, 1 - p), right == (p > 0.5)

    fitted = fit_temperature(answer)
    assert fitted == pytest.approx(3, abs=0.2)
    before, after = (calibration_error(*answer(t)) for t in (1.0, fitted))
    assert after < 0.02 < 0.05 < before


def test_the_error_is_that_of_the_bins():
    scores, right = np.array([0.5, 0.7, 0.69, 1.0]), np.array([0, 1, 0, 1])
    # Of two answers in one bin, the mean score is beside the share of right ones.
    expected = (0.5 + abs(0.7 + 0.69 - 1) + 0) / 4
    assert calibration_error(scores, right) == pytest.approx(expected)


def test_the_slope_and_the_bias_that_scores_need_are_found():
    rng = np.random.default_rng(0)
    odds = rng.normal(0.5, 2, 20000)
    right = rng.random(20000) < 1 / (1 + np.exp(-0.5 * odds - 0.25))
    scores = 1 / (1 + np.exp(-odds))
    assert fit_odds(scores, right) == pytest.approx((0.5, 0.25), abs=0.03)
    assert fit_odds(scores, np.ones(20000, bool)) == (1, 0)


def test_sampling_alone_makes_an_error_that_falls_with_the_number_of_answers():
    few, many = (sampling_error(np.full(n, 0.5)) for n in (100, 10_000))
    # The mean distance of a share from one half, that of a normal distribution.
    assert few == pytest.approx(np.sqrt(2 / np.pi) * 0.05, rel=0.15)
    assert many == pytest.approx(few / 10, rel=0.3)
