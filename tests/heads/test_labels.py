"""Labelled texts and pairs: their files."""

import functools

import pytest

from elmo_keras.heads import read_pairs, read_texts
from elmo_keras.text.tokenizers import split_spaces
from tests.support.readers import check_reading, check_refusal

PAIR = '{"premise": "a", "hypothesis": "b", "label": "x"}\n'
spaces = functools.partial(read_texts, split=split_spaces)
# Reader, file, and the values of the examples' fields.
READ = [
    (
        read_texts,
        'id\ttext\tlabel\n7\tSo "good"~\t 1\n8\t\t0\n',
        [(["So", '"', "good", '"', "~"], "1"), ([], "0")],
    ),
    (
        spaces,
        "text\tlabel\n2\xa01/2 It's \u2028 x\x85\t5\n",
        [(["2\xa01/2", "It's", "\u2028", "x\x85"], "5")],
    ),
    # In JSON, a list holds tokens.
    (
        read_texts,
        '{"text": ["2\xa01/2", "It\'s"], "label": 3, "more": {}}\n{"text": "It\'s", "label": "x"}\n',
        [(["2\xa01/2", "It's"], "3"), (["It", "'s"], "x")],
    ),
    (
        read_texts,
        '{"text": "Oh", "labels": ["joy", "fear"]}\n{"text": "", "labels": []}\n',
        [(["Oh"], ["joy", "fear"]), ([], [])],
    ),
    (read_texts, "text\tlabels\na\tb,c\nd\t\n", [(["a"], ["b", "c"]), (["d"], [])]),
    (read_pairs, "label\thypothesis\tpremise\n1\tc\ta b\n", [([*"ab"], ["c"], "1")]),
    (read_pairs, PAIR, [(["a"], ["b"], "x")]),
]
MALFORMED = [
    (read_texts, "id\tdocument\n1\ta\n", 2, "text, label .* Missing: text, label"),
    (read_texts, "text\tlabel\na\t \n", 2, "a label is expected, not ' '"),
    (read_texts, '{"text": 1, "label": "1"}\n', 1, "a text or a list of tokens .* 1"),
    (read_texts, '{"text": "a", "label": null}\n', 1, "a label is expected, not None"),
    (read_texts, '{"text": "a", "labels": 5}\n', 1, "a list of labels is expected"),
    (read_pairs, PAIR + PAIR.replace("hypo", ""), 2, "Missing: hypothesis"),
]


@pytest.mark.parametrize("row", READ)
def test_a_file_becomes_examples(row, file):
    check_reading(*row, file)


@pytest.mark.parametrize("row", MALFORMED)
def test_a_malformed_line_is_reported_with_its_place(row, file):
    check_refusal(*row, file)


def test_a_file_with_two_kinds_of_labels_is_refused(file):
    mixed = '{"text": "a", "label": "b"}\n{"text": "a", "labels": ["b"]}\n'
    with pytest.raises(ValueError, match="`label` in all lines, or `labels` in all"):
        read_texts(file(mixed))
