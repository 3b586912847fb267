"""Readers of pairs of premise and hypothesis."""

import json

import pytest

from elmo_keras.tasks.entail.entailment_pairs import (
    read_klue,
    read_kornli,
    read_snli,
    read_tabs,
)
from tests.support.reader_checks import check_malformed

KORNLI = "sentence1\tsentence2\tgold_label\n"
SNLI = '{"sentence1": "a", "sentence2": "b", "gold_label": "x"}\n'
KLUE = '{\n"premise": "a",\n"hypothesis": "b",\n"gold_label": "x"\n}'


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


@pytest.mark.parametrize(
    "read, text, line, reason",
    [
        (read_tabs, "a\tb\t1\na\tb\n", 2, "3 fields .*, not 2"),
        (read_tabs, "a\tb\t\n", 1, "the label is missing"),
        (read_kornli, f"{KORNLI}a\tb\tc\td\n", 2, "3 fields .*, not 4"),
        (read_snli, SNLI + '{"sentence1": "a"\n', 2, "JSON is expected"),
        (read_snli, SNLI + "[]\n", 2, r"an object with strings .*, not \[\]"),
        (read_snli, SNLI + '{"sentence1": "a"}\n', 2, "an object with strings"),
        (read_snli, SNLI.replace('"b"', "1"), 1, "an object with strings"),
        (read_klue, f"[\n{KLUE},\n{KLUE}\n", 11, "JSON is expected"),
        (read_klue, KLUE, 1, "a list of objects"),
        (read_klue, f"[\n{KLUE},\n{KLUE.replace('a', 'b')}\n]", 11, "object with str"),
        (read_klue, f"[\n{KLUE},\n{KLUE.replace('x', '')}\n]", 11, "label is missing"),
    ],
)
def test_a_malformed_line_is_reported_with_its_place(file, read, text, line, reason):
    check_malformed(read, file(text), line, reason)
