"""Readers of pairs of premise and hypothesis."""

import json

from elmo_keras.tasks.entail.entailment_pairs import (
    read_klue,
    read_kornli,
    read_snli,
    read_tabs,
)


def test_pairs_have_premise_hypothesis_and_label(file):
    pair = {"premise": ["a", "b"], "hypothesis": ["c"], "label": "1"}
    assert read_tabs(file("a b\tc\t1\n")) == [pair]
    (other,) = read_tabs(file("2\xa01/2 b\tc\u2028d\t1\n"))
    assert other["premise"] == ["2\xa01/2", "b"] and other["hypothesis"] == ["c\u2028d"]
    header = "sentence1\tsentence2\tgold_label\n"
    assert read_kornli(file(f"{header}a b\tc\t1\n")) == [pair]
    assert read_kornli(file(header)) == []


def test_pairs_without_agreement_are_left_out_of_snli(file):
    lines = [
        {"gold_label": label, "sentence1": "It isn't.", "sentence2": "No", "more": 1}
        for label in ("neutral", "-", "entailment")
    ]
    examples = read_snli(file("\n".join(map(json.dumps, lines))))
    assert [example["label"] for example in examples] == ["neutral", "entailment"]
    assert examples[0]["premise"] == ["It", "is", "n't", "."]


def test_a_list_of_json_objects_gives_pairs(file):
    record = {
        "premise": "가. [나]",
        "hypothesis": "다",
        "gold_label": "neutral",
        "x": {},
    }
    expected = {"premise": ["가", ".", "[", "나", "]"], "hypothesis": ["다"]}
    for indent in (None, 1):
        path = file(json.dumps([record, record], ensure_ascii=False, indent=indent))
        assert read_klue(path) == [expected | {"label": "neutral"}] * 2
    assert read_klue(file("\n[ ]\n")) == []
