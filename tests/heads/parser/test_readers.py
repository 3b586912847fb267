"""Dependency trees that readers read, and that they refuse."""

import pytest

from elmo_keras.heads import read_trees
from elmo_keras.heads.parser.readers import read_tree_rows
from tests.support.readers import (
    CONLLU,
    check_reading,
    check_refusal,
    check_row_refusal,
)

TREES = [
    (
        *(["vamos", "nos", "mar"], ["ir", "nosotros", "mar"]),
        *(["VERB", "PRON", "NOUN"], ["_"] * 3, ["_"] * 3),
        *([0, 1, 1], ["root", "obj", "obl"], ["no", "yes", "no"]),
    ),
    (["Sí"], ["sí"], ["INTJ"], ["_"], ["_"], [0], ["root"], ["no"]),
]
MALFORMED = [
    (CONLLU.replace("3\tmar", "4\tmar"), 6, "word 3 is expected, not 4"),
    (CONLLU.replace("1\tobj", "_\tobj"), 4, "a head and a relation"),
    (CONLLU.replace("1\tobl", "4\tobl"), 1, "heads should be words"),
    (CONLLU.replace("1\tobl", "0\tobl"), 1, "and 0 for one of them"),
    (CONLLU.replace("1-2", "1-10000000"), 2, "1-10000000 should be words of the sen"),
    (CONLLU.replace("1-2", "2-1"), 2, "2-1 should be words of the sentence"),
    (
        CONLLU.replace("1-2", f"1-{5000 * '1'}"),
        2,
        "the first column should be a number",
    ),
    # A word that is its own head, and two that are each other's.
    (CONLLU.replace("1\tobj", "2\tobj"), 1, "form a circle: 2 → 2$"),
    (
        CONLLU.replace("1\tobj", "3\tobj").replace("1\tobl", "2\tobl"),
        *(1, "form a circle: 3 → 2 → 3$"),
    ),
]


def test_a_file_becomes_trees(file):
    check_reading(read_trees, CONLLU, TREES, file)


@pytest.mark.parametrize("row", MALFORMED)
def test_a_malformed_line_is_reported_with_its_place(row, file):
    check_refusal(read_trees, *row, file)


ROW = {"tokens": ["Cats", "sat"], "upos": ["NOUN", "VERB"], "head": [2, 0]}
ROW |= {"deprel": ["nsubj", "root"]}
FORM = "a form, a part of speech, a head and a relation"
WRONG_ROWS = [
    ({"tokens": "Cats sat"}, "`tokens` should hold a str for each token"),
    ({"tokens": []}, "`tokens` should hold a str"),
    ({"tokens": ["", "sat"]}, FORM),
    ({"upos": None}, "`upos` should hold a str for each token"),
    ({"upos": [7, 3]}, "`upos` should hold a str"),
    ({"upos": ["NOUN", "_"]}, FORM),
    ({"feats": ["_"]}, "`feats` should hold a str"),
    ({"deprel": ["nsubj"]}, "`deprel` should hold a str"),
    ({"head": [2]}, "`head` should hold a number for each token"),
    ({"head": ["None", "0"]}, FORM),
    ({"head": [2, 3]}, "heads should be words of the sentence"),
    ({"head": [0, 2]}, "form a circle: 2 → 2"),
]


def test_rows_in_memory_become_the_trees_of_a_file(file):
    trees = read_trees(file(CONLLU))
    rows = [(f"row {i}", tree) for i, tree in enumerate(trees)]
    assert read_tree_rows(rows, "data") == trees
    # Data sets have other names, and heads as texts.
    other = {"form": ROW["tokens"], "lemmas": ["cat", "_"], "head": ["2", "0"]}
    row = {**ROW, **other}
    del row["tokens"]
    (tree,) = read_tree_rows([("row 0", row)], "data")
    assert tree == ROW | {
        "lemma": ["cat", None],
        "xpos": ["_"] * 2,
        "feats": ["_"] * 2,
        "joined": ["no"] * 2,
    }


@pytest.mark.parametrize("bad, reason", WRONG_ROWS)
def test_a_wrong_row_in_memory_is_refused_by_its_name(bad, reason):
    check_row_refusal(read_tree_rows, ROW, bad, reason)
