"""The text classifier's losses and scores, and correlations worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from elmo_keras.tasks.classify.classifier import Maxout, TextClassifier
from elmo_keras.tasks.classify.task import Classification
from elmo_keras.tasks.layers.token_vectors import TokenVectors
from elmo_keras.tasks.similarity.task import Similarity, pearson, ranks
from tests.support.task_models import (
    built,
    scores_of,
    task_of,
    token_vectors,
)


def multi_label():
    labels = ["a", "b", "c"]
    return built(TextClassifier(token_vectors(), labels, multi_label=True, units=3))


def test_a_label_of_multi_label_texts_needs_a_probability_of_three_tenths():
    probabilities = np.array([[0.31, 0.29, 0.1], [0.9, 0.3, 0.0], [0.1, 0.2, 0.0]])
    assert multi_label().decide(probabilities) == [["a"], ["a", "b"], []]


def test_the_losses_by_hand():
    y_pred = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], "float32")
    one = TextClassifier(TokenVectors(), ["a", "b", "c"], units=2)
    loss = one.compute_loss(y=np.array([0, 2]), y_pred=y_pred)
    assert float(loss) == pytest.approx(-np.log([0.5, 0.8]).mean(), rel=1e-5)
    y = np.array([[1, 0, 1], [0, 0, 0]], "float32")
    p = np.where(y == 1, y_pred, 1 - y_pred)
    loss = multi_label().compute_loss(y=y, y_pred=y_pred)
    assert float(loss) == pytest.approx(-np.log(p).mean(), rel=1e-5)


def test_maxout_takes_the_maximum_of_its_maps():
    layer = Maxout(2, pieces=3)
    layer.build((None, 1))
    kernel = [[1.0, 0.0, -1.0, 2.0, 0.0, -3.0]]  # (map, unit): the unit changes fastest
    layer.dense.set_weights([np.array(kernel), np.array([0.0] * 4 + [1.5, 0.0])])
    x = np.array([[1.0], [-2.0]], "float32")
    np.testing.assert_allclose(layer(x), [[1.5, 2.0], [2.0, 6.0]])


def f1_of_labels(expected, found, labels):
    model = SimpleNamespace(labels=labels, multi_label=True, decide=lambda _: found)
    examples = [{"labels": row} for row in expected]
    return scores_of(task_of(Classification), model, examples, [[0]])


def test_f1_of_several_labels_by_hand():
    expected = [["a", "b"], ["a"], ["c"], []]
    found = [["a"], ["b", "a"], [], ["b"]]
    scores = f1_of_labels(expected, found, ["a", "b", "c", "d"])
    # a: 2 of 2 and 2; b: 0 of 1 and 2; c: 0 of 1 and 0; d: nowhere. In all 2 of 4 and 4.
    assert scores == {"macro F1": 0.25, "micro F1": 0.5}


def test_no_labels_at_all_score_0():
    assert f1_of_labels([[]], [[]], ["a"]) == {"macro F1": 0, "micro F1": 0}


def spearman(x, y):
    pairs = np.transpose([x, y])
    return task_of(Similarity).scores(pairs)["Spearman"]


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
