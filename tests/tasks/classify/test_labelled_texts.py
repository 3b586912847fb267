"""Readers of labelled texts."""

import pytest

from elmo_keras.tasks.classify.labelled_texts import (
    read_fasttext,
    read_goemotions,
    read_label_names,
    read_table,
    read_trees,
)
from elmo_keras.tasks.readers.words import words_and_punctuation
from tests.support.reader_checks import check_malformed

NAMES = ["joy", "anger", "neutral"]
TABLE = "document\tlabel\n"


def goemotions(path):
    return read_goemotions(path, NAMES)


def test_fasttext_lines_have_a_label_and_tokens(file):
    path = file("__label__4\tIt 's  lovely .\r\n__label__1 Bad\n__label__2\n")
    assert read_fasttext(path) == [
        {"tokens": ["It", "'s", "lovely", "."], "label": "4"},
        {"tokens": ["Bad"], "label": "1"},
        {"tokens": [], "label": "2"},
    ]
    raw = read_fasttext(file("__label__x It's"), words_and_punctuation)
    assert raw == [{"tokens": ["It", "'s"], "label": "x"}]


def test_a_tree_has_the_label_of_its_root_and_the_words_of_its_leaves(file):
    path = file(
        "(3 (2 A) (4 (4 fine) (2 film\\/book)))\n(0 \\*Bad)\n(1 (2 -LRB-) (1 x))\n"
    )
    assert read_trees(path) == [
        {"tokens": ["A", "fine", "film/book"], "label": "3"},
        {"tokens": ["*Bad"], "label": "0"},
        {"tokens": ["(", "x"], "label": "1"},
    ]


def test_words_may_hold_white_space_other_than_the_space(file):
    path = file("(3 (2 A\xa0) (4 (4 2\xa01/2) (2 \u3000)))\n")
    assert read_trees(path) == [
        {"tokens": ["A\xa0", "2\xa01/2", "\u3000"], "label": "3"}
    ]
    path = file("__label__4 2\xa01/2 \u2028 x\x85\n__label__5\n")
    assert read_fasttext(path) == [
        {"tokens": ["2\xa01/2", "\u2028", "x\x85"], "label": "4"},
        {"tokens": [], "label": "5"},
    ]


def test_a_table_gives_documents_by_the_names_of_its_columns(file):
    path = file('id\tdocument\tlabel\n7\t되게 "좋소~\t1\n8\t\t0\n')
    assert read_table(path) == [
        {"tokens": ["되게", '"', "좋소", "~"], "label": "1"},
        {"tokens": [], "label": "0"},
    ]
    swapped = read_table(file("label\tdocument\n1\ta b\n"), str.split)
    assert swapped == [{"tokens": ["a", "b"], "label": "1"}]


def test_a_text_may_have_several_labels(file):
    path = file("Oh no!\t2,0\tid1\nYes\t1\tid2\n")
    assert goemotions(path) == [
        {"tokens": ["Oh", "no", "!"], "labels": ["neutral", "joy"]},
        {"tokens": ["Yes"], "labels": ["anger"]},
    ]
    assert read_label_names(file("joy\nanger\n")) == ["joy", "anger"]


@pytest.mark.parametrize(
    "read, text, line, reason",
    [
        (read_fasttext, "__label__1 a\nno label\n", 2, "not 'no label'"),
        (read_fasttext, "__label__1 a\n\n", 2, "not ''"),
        (read_fasttext, "__label__ a\n", 1, "one __label__… and a text"),
        (read_fasttext, "__label__1 __label__2 a\n", 1, "one __label__… and a text"),
        (read_trees, "(1 a)\n(1 (2 a)\n", 2, "a tree such as"),
        (read_trees, "(1 a) (2 b)\n", 1, "a tree such as"),
        (read_trees, "(1 a))\n", 1, "a tree such as"),
        (read_trees, "\n", 1, "a tree such as"),
        (read_table, "", 1, "Missing: document, label"),
        (read_table, "id\tdocument\n", 1, "Missing: label"),
        (read_table, f"{TABLE}a\t1\nb\n", 3, "2 fields separated by tabs .*, not 1"),
        (read_table, f"{TABLE}a\t1\t2\n", 2, "2 fields .*, not 3"),
        (read_table, f"{TABLE}a\t \n", 2, "the label is missing"),
        (goemotions, "a\t1\n", 1, "3 fields .*, not 2"),
        (goemotions, "a\t1,3\tid\n", 1, r"labels from 0 to 2 .*, not \['1', '3'\]"),
        (goemotions, "a\t1\tid\na\t\tid\n", 2, "labels from 0 to 2"),
        (goemotions, "a\t-1\tid\n", 1, "labels from 0 to 2"),
        (read_label_names, "a\n\n", 2, "a new label"),
        (read_label_names, "a\nb\na\n", 3, "a new label"),
    ],
)
def test_a_malformed_line_is_reported_with_its_place(file, read, text, line, reason):
    check_malformed(read, file(text), line, reason)
