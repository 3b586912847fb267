"""Scores of labels, worked out by hand."""

from elmo_keras.tasks.experiments.label_scores import multi_label_f1


def test_f1_of_several_labels_by_hand():
    expected = [["a", "b"], ["a"], ["c"], []]
    found = [["a"], ["b", "a"], [], ["b"]]
    scores = multi_label_f1(expected, found, ["a", "b", "c", "d"])
    # a: 2 of 2 and 2; b: 0 of 1 and 2; c: 0 of 1 and 0; d: nowhere. In all 2 of 4 and 4.
    assert scores == {"macro F1": 0.25, "micro F1": 0.5}


def test_no_labels_at_all_score_0():
    assert multi_label_f1([[]], [[]], ["a"]) == {"macro F1": 0, "micro F1": 0}
