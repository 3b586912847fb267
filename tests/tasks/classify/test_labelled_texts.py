"""Readers of labelled texts."""

from elmo_keras.tasks.classify.labelled_texts import (
    read_fasttext,
    read_goemotions,
    read_label_names,
    read_table,
    read_trees,
)
from elmo_keras.tasks.readers.words import words_and_punctuation


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
    assert read_goemotions(path, ["joy", "anger", "neutral"]) == [
        {"tokens": ["Oh", "no", "!"], "labels": ["neutral", "joy"]},
        {"tokens": ["Yes"], "labels": ["anger"]},
    ]
    assert read_label_names(file("joy\nanger\n")) == ["joy", "anger"]
