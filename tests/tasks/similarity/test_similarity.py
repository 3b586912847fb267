"""Correlations worked out by hand."""

import numpy as np
import pytest

from elmo_keras.tasks.similarity.__main__ import pearson, ranks, spearman


def test_pearson_by_hand():
    # Deviations (−1, 0, 1) and (−2, 1, 1): 3 / √(2 · 6).
    assert pearson([1, 2, 3], [0, 3, 3]) == pytest.approx(3 / np.sqrt(12))
    assert pearson([1, 2, 4], [-10, -20, -40]) == pytest.approx(-1)


def test_a_constant_series_has_no_correlation():
    assert pearson([1, 2, 3], [0.1, 0.1, 0.1]) == 0
    assert spearman([0.1, 0.1], [2, 3]) == 0
    assert pearson([], []) == 0


def test_ranks_of_ties_are_averaged():
    np.testing.assert_array_equal(ranks([5, 1, 5, 3, 5]), [4, 1, 4, 2, 4])
    np.testing.assert_array_equal(ranks([2, 2]), [1.5, 1.5])


def test_spearman_by_hand():
    # Without ties 1 − 6 Σd² / (n (n² − 1)): four ranks are off by 1, 1 − 24 / 120.
    assert spearman([10, 20, 30, 40, 50], [2, 1, 3, 9, 4]) == pytest.approx(0.8)
    assert spearman([1, 2, 3, 4, 5], [2, 1, 3, 5, 4]) == pytest.approx(0.8)
    assert spearman([1, 2, 3], [1, 10, 100]) == pytest.approx(1)
    # Ranks (1, 2, 3) and (1, 2.5, 2.5): deviations give 1.5 / √(2 · 1.5).
    assert spearman([1, 2, 3], [0, 7, 7]) == pytest.approx(1.5 / np.sqrt(3))
