"""Labelled data in memory becomes the examples that a file of it becomes."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from elmo_keras.heads import (
    Answering,
    Classification,
    Coreference,
    Entailment,
    EntityTagging,
    Parsing,
    PosTagging,
    RoleTagging,
)
from elmo_keras.heads.examples import read_examples
from elmo_keras.heads.tagger.task import PredicateTagging


class DataSet:
    """Rows and features as `datasets.Dataset` has them."""

    def __init__(self, features, rows):
        self.features, self.rows = features, rows

    def __iter__(self):
        return iter(self.rows)


TEXT = SimpleNamespace(dtype="string")


def classes(*names):
    return SimpleNamespace(names=[*names])


def lists_of(feature):
    return SimpleNamespace(feature=feature)


TEXTS, LABELS = ["So good", "Bad !", "Oh"], ["pos", "neg", "pos"]
ROWS = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS)]
NUMBERED = [row | {"label": int(row["label"] == "pos")} for row in ROWS]
FRAME = pd.DataFrame(ROWS)
FORMS = {
    "list": ROWS,
    "tuple": tuple(ROWS[:2]),
    "generator": (row for row in ROWS),
    "pair": (TEXTS, LABELS),
    "arrays": (np.array(TEXTS), np.array(LABELS)),
    "series": (FRAME["text"], FRAME["label"]),
    "pandas": FRAME,
    "polars": SimpleNamespace(to_dicts=lambda: ROWS),
    "Hugging Face": DataSet({"text": TEXT, "label": classes("neg", "pos")}, NUMBERED),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_examples_of_a_file(form, file):
    rows, task = ROWS[:2] if form == "tuple" else ROWS, Classification()
    path = file("".join(f"{json.dumps(row)}\n" for row in rows))
    expected = read_examples(task, path)
    assert expected[1] == {"tokens": ["Bad", "!"], "label": "neg"}
    assert read_examples(task, str(path)) == expected
    assert read_examples(task, FORMS[form]) == expected


TOKENS, TAGS = ["Ann", "in", "Rome"], ["B-PER", "O", "B-LOC"]
TAGGED = {"tokens": TOKENS, "tags": TAGS, "left_out": []}
SQUAD = {"context": "Ann won.", "question": "Who?"}
SQUAD |= {"answers": {"text": ["Ann"], "answer_start": [0]}}
PAIR = {"premise": "a", "hypothesis": "b c", "label": 1}
ROLES = {"tokens": ["Ann", "sat"], "tags": ["B-A0", "B-V"], "predicate": 1}
TREE = {"tokens": ["It"], "upos": ["PRON"], "head": [0], "deprel": ["root"]}
DOCUMENT = {
    "name": "a",
    "sentences": [["Ann"], ["She"]],
    "clusters": [[[0, 0], [1, 1]]],
}
# Task, data in memory, and the row of JSON that says the same.
KINDS = {
    "numbers": (
        Classification(),
        (["So good"], np.array([3])),
        {"text": "So good", "label": 3},
    ),
    "several labels": (
        Classification(),
        (["So good"], [np.array(["joy", "fear"])]),
        {"text": "So good", "labels": ["joy", "fear"]},
    ),
    "several classes": (
        Classification(),
        DataSet(
            {"text": TEXT, "labels": lists_of(classes("joy", "fear"))},
            [{"text": "So good", "labels": [1, 0]}],
        ),
        {"text": "So good", "labels": ["fear", "joy"]},
    ),
    "pairs": (Entailment(), pd.DataFrame([PAIR]), PAIR),
    "texts with spans": (
        EntityTagging(),
        (["Ann at Rome"], [[(0, 3, "PER"), (7, 11, "LOC")]]),
        {"text": "Ann at Rome", "label": [[0, 3, "PER"], [7, 11, "LOC"]]},
    ),
    "tokens with entities": (EntityTagging(), ([TOKENS], [TAGS]), TAGGED),
    "classes of entities": (
        EntityTagging(),
        DataSet(
            {"tokens": lists_of(TEXT), "ner_tags": lists_of(classes("O", *TAGS[::2]))},
            [{"tokens": TOKENS, "ner_tags": [1, 0, 2]}],
        ),
        TAGGED,
    ),
    "questions": (Answering(), pd.DataFrame([SQUAD]), SQUAD),
    "words": (
        PosTagging(),
        ([["It"]], [["PRON"]]),
        {"tokens": ["It"], "upos": ["PRON"]},
    ),
    "roles": (RoleTagging(), [ROLES], ROLES),
    "predicates": (PredicateTagging(), [ROLES], ROLES),
    "trees": (Parsing(), [TREE], TREE),
    "documents": (Coreference(), [DOCUMENT], DOCUMENT),
}


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_other_kinds_gives_the_examples_of_a_file(kind, tmp_path):
    task, data, row = KINDS[kind]
    path = tmp_path / "examples.jsonl"
    path.write_text(json.dumps(row) + "\n")
    assert read_examples(task, data) == read_examples(task, path) != []


def test_tagged_tokens_in_memory_are_those_of_a_file(conllu):
    path = conllu("train", [[("Ann", "PROPN"), ("sat", "VERB")]])
    data = ([["Ann", "sat"]], [["PROPN", "VERB"]])
    assert read_examples(PosTagging(), data) == read_examples(PosTagging(), path)


UNLABELLED = DataSet(
    {"text": TEXT, "label": classes("neg")}, [NUMBERED[1] | {"label": -1}]
)


@pytest.mark.parametrize(
    "data, error, reason",
    [
        *(
            (data, TypeError, "`train` should be a path, a list of dicts, a pair of ")
            for data in (7, None, b"path", {"text": TEXTS}, TEXTS, [TEXTS, LABELS])
        ),
        (("So good", "pos"), TypeError, "`train` should be a path"),
        ((TEXTS, 7), TypeError, "`train` should be a path"),
        ([], ValueError, "`train` should hold examples. Received: none"),
        ((TEXTS, LABELS[:2]), ValueError, r"texts and as many labels.* \[3, 2\] items"),
        ((TEXTS, LABELS, LABELS), ValueError, r"a pair of texts and .* \[3, 3, 3\]"),
        ([ROWS[0], {"text": "a"}], ValueError, "^train:row 1: .* Missing: label"),
        ([ROWS[0], {"text": "\ud800"}], ValueError, "^train:row 1: .* surrogates not"),
        (UNLABELLED, ValueError, "^train:row 0: a label is expected, not None"),
    ],
)
def test_data_of_another_form_is_refused(data, error, reason):
    with pytest.raises(error, match=reason):
        read_examples(Classification(), data, "train")


def test_a_pair_of_lists_is_refused_by_kinds_with_two_texts():
    with pytest.raises(ValueError, match="list of dicts.* for premise, hypothesis and"):
        read_examples(Entailment(), (TEXTS, LABELS))
