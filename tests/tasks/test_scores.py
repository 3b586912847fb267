"""The text classifier's losses and scores, worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from elmo_keras.tasks.classifier import Maxout, TextClassifier
from elmo_keras.tasks.classify.task import Classification
from elmo_keras.tasks.token_vectors import TokenVectors
from tests.support.task_models import (
    built,
    scores_of,
    task_of,
    token_vectors,
)


def multi_label():
    labels = ["a", "b", "c"]
    return built(
        TextClassifier(token_vectors(), labels=labels, multi_label=True, units=3)
    )


def test_a_label_of_multi_label_texts_needs_a_probability_of_three_tenths():
    probabilities = np.array([[0.31, 0.29, 0.1], [0.9, 0.3, 0.0], [0.1, 0.2, 0.0]])
    assert multi_label().decide(probabilities) == [["a"], ["a", "b"], []]


def test_the_losses_by_hand():
    y_pred = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], "float32")
    one = TextClassifier(TokenVectors(), labels=["a", "b", "c"], units=2)
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


@pytest.mark.parametrize(
    ("expected", "predicted", "labels", "macro", "micro"),
    [
        # a: 2 of 2 and 2; b: 0 of 1 and 2; c: 0 of 1 and 0; d: nowhere. In all 2 of 4
        # and 4.
        (
            [["a", "b"], ["a"], ["c"], []],
            [["a"], ["b", "a"], [], ["b"]],
            ["a", "b", "c", "d"],
            *(0.25, 0.5),
        ),
        ([[]], [[]], ["a"], 0, 0),
    ],
)
def test_f1_of_several_labels_by_hand(expected, predicted, labels, macro, micro):
    model = SimpleNamespace(labels=labels, multi_label=True, decide=lambda _: predicted)
    examples = [{"labels": row} for row in expected]
    scores = scores_of(task_of(Classification), model, examples, [[0]])
    assert scores == {"macro F1": macro, "micro F1": micro}
