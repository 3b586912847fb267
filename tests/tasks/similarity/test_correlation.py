"""Scores of labels and correlations, worked out by hand."""

import numpy as np
import pytest

from elmo_keras.tasks.scores.correlation import pearson, ranks, spearman
from elmo_keras.tasks.scores.label_scores import accuracy, several_labels_f1


def test_accuracy_is_the_share_that_is_right():
    assert accuracy(["a", "b", "a", "c"], ["a", "a", "a", "b"]) == 0.5
    assert accuracy([], []) == 0
    with pytest.raises(ValueError):
        accuracy(["a"], [])


def test_f1_of_several_labels_by_hand():
    expected = [["a", "b"], ["a"], ["c"], []]
    found = [["a"], ["b", "a"], [], ["b"]]
    scores = several_labels_f1(expected, found, ["a", "b", "c", "d"])
    # a: 2 of 2 and 2; b: 0 of 1 and 2; c: 0 of 1 and 0; d: nowhere. In all 2 of 4 and 4.
    assert scores == {"macro F1": 0.25, "micro F1": 0.5}


def test_no_labels_at_all_score_nothing():
    assert several_labels_f1([[]], [[]], ["a"]) == {"macro F1": 0, "micro F1": 0}


def test_pearson_by_hand():
    # Deviations (−1, 0, 1) and (−2, 1, 1): 3 / √(2 · 6).
    assert pearson([1, 2, 3], [0, 3, 3]) == pytest.approx(3 / np.sqrt(12))
    assert pearson([1, 2, 4], [-10, -20, -40]) == pytest.approx(-1)


def test_a_constant_row_has_no_correlation():
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
