"""The graph of labels against the decoding in NumPy."""

import numpy as np
import pytest

from elmo_keras.heads.label_model import answers
from elmo_keras.heads.labels import predicted_labels, scored_labels
from tests.support.task_models import Scorer


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_graph_gives_the_labels_and_scores_of_the_decoding(multi_label):
    scores = np.random.default_rng(0).random((50, 3), np.float32)
    options = {"multi_label": multi_label, "threshold": 0.6}
    model = Scorer(scores=scores, labels=["a", "b", "c"], **options)
    outputs = {name: x.numpy() for name, x in answers(model, {}).items()}
    assert outputs["labels"].tolist() == [[b"a", b"b", b"c"]] * 50
    np.testing.assert_array_equal(outputs["scores"], scores)
    expected, scored = predicted_labels(model, scores), scored_labels(model, scores)
    if not multi_label:
        assert [name.decode() for name in outputs["label"]] == expected
        assert [row["label"] for row in scored] == expected
        assert [row["score"] for row in scored] == scores.max(axis=1).tolist()
        return
    rows = [b",".join(row).decode() for row in outputs["predicted_labels"]]
    assert rows == [",".join(row + [""] * (3 - len(row))) for row in expected]
    assert {len(row) for row in expected} == {0, 1, 2, 3}
    for row, labels, p in zip(scored, expected, scores.tolist()):
        pairs = [(label["score"], label["label"]) for label in row]
        assert pairs == sorted(pairs, reverse=True)
        assert sorted(label for _, label in pairs) == labels
        assert all(p["abc".index(label)] == score for score, label in pairs)
