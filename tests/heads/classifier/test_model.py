"""The text classifier: its layers, losses and decisions."""

import numpy as np
import pytest

from elmo_keras.heads import TextClassifier, TokenVectors
from elmo_keras.heads.classifier.model import Maxout, SelfAttentivePooling
from tests.support.reference import softmax

LENGTHS = np.array([3, 0, 5, 1])
MASK = np.arange(5) < LENGTHS[:, None]
X = np.random.default_rng(0).normal(size=(4, 5, 2)).astype("float32")
X = np.where(MASK[..., None], X, 1e3 * np.sign(X))


def attentive(x, mask):
    pooling = SelfAttentivePooling()
    pooling.build(x.shape)
    pooling.score.set_weights([np.array([[0.5], [-2.0]]), np.array([7.0])])
    return pooling(x, mask)


def test_attentive_pooling_sees_the_real_tokens_only():
    for x in X, -X, np.where(MASK[..., None], X, 0), np.where(MASK[..., None], -X, 0):
        rows = (r[:n] for r, n in zip(x, LENGTHS))
        expected = [softmax(r @ [0.5, -2.0]) @ r if len(r) else [0, 0] for r in rows]
        np.testing.assert_allclose(attentive(x, MASK), expected, atol=1e-5)


def test_maxout_takes_the_maximum_of_its_maps():
    layer = Maxout(2, pieces=3)
    layer.build((None, 1))
    kernel = [[1.0, 0.0, -1.0, 2.0, 0.0, -3.0]]  # (map, unit): the unit changes fastest
    layer.dense.set_weights([np.array(kernel), np.array([0.0] * 4 + [1.5, 0.0])])
    x = np.array([[1.0], [-2.0]], "float32")
    np.testing.assert_allclose(layer(x), [[1.5, 2.0], [2.0, 6.0]])


@pytest.mark.parametrize("multi_label", [False, True])
def test_losses_and_labels_by_hand(multi_label):
    options = {"multi_label": True, "threshold": 0.4} if multi_label else {}
    model = TextClassifier(TokenVectors(), labels=["a", "b", "c"], units=2, **options)
    p = np.array([[0.5, 0.25, 0.25], [0.1, 0.4, 0.5]], "float32")
    y, right = np.array([0, 2]), np.array([0.5, 0.5])
    if multi_label:
        y = np.array([[1, 0, 1], [0, 0, 0]], "float32")
        right = np.where(y == 1, p, 1 - p)
    loss = model.compute_loss(y=y, y_pred=p)
    assert float(loss) == pytest.approx(-np.log(right).mean(), rel=1e-5)
    expected = [["a"], ["b", "c"]] if multi_label else ["a", "c"]
    assert model.decode(p, [{}] * 2) == expected
    threshold = 0.4 if options else 0.3
    assert model.threshold == model.get_config()["threshold"] == threshold
