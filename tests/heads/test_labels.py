"""Labelled texts and pairs: their files and scores."""

from types import SimpleNamespace

import pytest

from elmo_keras.heads import Classification, Entailment
from tests.support.readers import check_reading, check_refusal
from tests.support.task_models import scores_of

PAIR = '{"premise": "a", "hypothesis": "b", "label": "x"}\n'
read_texts, read_pairs = Classification().read, Entailment().read
spaces = Classification(split="spaces").read
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
    # doccano's lists of one label, and of several.
    (read_texts, '[{"text": "a", "label": ["p"]}]', [(["a"], "p")]),
    (
        read_texts,
        '{"text": "a", "label": ["p"]}\n{"text": "b", "label": ["p", "q"]}\n',
        [(["a"], ["p"]), (["b"], ["p", "q"])],
    ),
    (read_pairs, PAIR, [(["a"], ["b"], "x")]),
]
MALFORMED = [
    (read_texts, "id\tdocument\n1\ta\n", 2, "text, label .* Missing: text, label"),
    (read_texts, "text\tlabel\na\t \n", 2, "a label is expected, not ' '"),
    (
        read_texts,
        '{"text": 1, "label": "1"}\n',
        1,
        "`text` should be a list of str, not 1",
    ),
    *(
        (
            read_texts,
            f'{{"text": {text}, "label": "1"}}\n',
            1,
            "`text` should be a list",
        )
        for text in ('{"a": 1}', "[1, 2]", '["a", null]', '[["a"]]', '[""]')
    ),
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
    model = SimpleNamespace(labels=labels, multi_label=True)
    examples = [{"labels": row} for row in expected]
    scores = scores_of(Classification(), model, examples, predicted)
    assert scores == {"macro F1": macro, "micro F1": micro}


def test_a_label_that_only_dev_has_counts_as_wrong():
    model = SimpleNamespace(labels=["1", "2"], multi_label=False)
    examples = [{"label": label} for label in ("2", "3")]
    scores = scores_of(Classification(), model, examples, ["2", "2"])
    assert scores == {"accuracy": 0.5}
