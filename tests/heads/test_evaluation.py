"""Scores of heads on labelled data: over all, by label, and mistakes."""

import collections

import pytest

from elmo_keras import pipeline
from elmo_keras.heads import Classification
from elmo_keras.heads.evaluation import label_statistics

pytestmark = pytest.mark.usefixtures("eagerly")
TOKENS = "The bank of Ann saw money .".split()
TEXT = {"context": "The bank of Ann. She sleeps.", "question": "Who sleeps?"}
TAGGED = {"tokens": TOKENS, "tags": ["DET", "NOUN", "X", "NOUN", "X", "NOUN", "X"]}
# Head → labelled data, the field with labels, and the names of scores.
KINDS = {
    "pos": (TAGGED, "tags", "accuracy"),
    "ner": (TAGGED | {"tags": ["O"] * 7}, "tags", "F1, precision, recall, accuracy"),
    "srl": (
        TAGGED | {"tags": ["B-A0", "B-V", *"OOOOO"], "predicate": 1},
        "tags",
        "F1, precision, recall, accuracy",
    ),
    "ud": (
        TAGGED | {"upos": TAGGED["tags"], "head": [0, *"111111"], "deprel": ["x"] * 7},
        None,
        "LAS, UAS, UPOS, XPOS, FEATS, LEMMA",
    ),
    "sentiment": ({"text": TOKENS, "label": "1"}, "label", "accuracy"),
    "emotions": ({"text": TOKENS, "labels": []}, "labels", "macro F1, micro F1"),
    "entail": (
        {"premise": TOKENS, "hypothesis": "A bank.", "label": "none"},
        "label",
        "accuracy",
    ),
    "qa": (
        TEXT | {"answers": [{"text": "Ann", "answer_start": 12}]},
        "answers",
        "F1, exact match",
    ),
    "doubting": (TEXT | {"answers": []}, "answers", "F1, exact match, no answer"),
    "coref": (
        {"sentences": [TOKENS, ["She", "sleeps"]]},
        "clusters",
        "CoNLL F1, MUC, B³, CEAF φ4, CEAF φ3",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_that_predicts_the_labels_of_the_data_has_the_highest_scores(kind, head):
    row, field, names = KINDS[kind]
    find = pipeline(head(kind))
    first = find.evaluate([row, row])
    assert [*first.scores] == names.split(", ")
    assert len(first.examples) == 2 and first.predictions[0] == first.predictions[1]
    labels = first.predictions[0]
    if field == "answers" and labels:
        start = TEXT["context"].index(labels)
        labels = [{"text": labels, "answer_start": start}]
    right = row | (labels if field is None else {field: labels or []})
    result = find.evaluate([right])
    assert {*result.scores.values()} == {1.0} and not result.mistakes
    assert result.predictions == first.predictions[:1]
    assert {score.f1 for score in result.labels.values()} <= {1.0}


def test_labels_have_scores_and_mistakes_are_the_most_frequent_first(head):
    find = pipeline(head("pos"))
    rows = [TAGGED, {"tokens": ["Ann", "sees", "The"], "tags": ["NOUN", "VERB", "X"]}]
    result = find.evaluate(rows)
    expected = [tag for row in rows for tag in row["tags"]]
    predicted = [word["label"] for row in rows for word in find([row["tokens"]])[0]]
    assert [tag for tags in result.predictions for tag in tags] == predicted
    pairs = collections.Counter(zip(expected, predicted, strict=True))
    n_right = sum(n for (a, b), n in pairs.items() if a == b)
    assert result.scores == {"accuracy": pytest.approx(n_right / 10)}
    assert str(result) == f"accuracy {10 * n_right:.2f}"
    assert {*result.labels} == {*expected}
    for tag, (f1, count) in result.labels.items():
        assert count == expected.count(tag)
        assert f1 == 2 * pairs[tag, tag] / (count + predicted.count(tag))
    wrong = {pair: n for pair, n in pairs.items() if pair[0] != pair[1]}
    assert {tuple(m[:2]): m.count for m in result.mistakes} == wrong
    counts = [mistake.count for mistake in result.mistakes]
    assert counts == sorted(counts, reverse=True) and len(counts) > 1


def test_a_label_may_be_called_as_what_is_missing():
    rows = [{"labels": ["none"]}, {"labels": ["joy"]}, {"labels": ["none"]}]
    results = [["none"], [], ["none", "joy"]]
    labels, mistakes = label_statistics(Classification(), rows, results)
    assert labels == {"none": (1.0, 2), "joy": (0.0, 1)}
    assert mistakes == [("joy", "none", 1), ("none", "joy", 1)]


def test_data_with_several_labels_needs_a_head_that_gives_several(head):
    with pytest.raises(ValueError, match="gives one label: examples need a `label`"):
        pipeline(head("sentiment")).evaluate([{"text": "The bank", "labels": ["1"]}])
    with pytest.raises(ValueError, match="examples:row 0: the columns text, label"):
        pipeline(head("sentiment")).evaluate([{"text": "The bank"}])
