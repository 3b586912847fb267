"""Entities and roles, as conlleval and CoNLL-2005's script count them."""

import numpy as np
import pytest

from elmo_keras.heads.tagger.entities import (
    arguments,
    count_spans,
    entities,
    f1_of_spans,
    marks_spans,
    to_bio,
)


@pytest.mark.parametrize(
    ("tags", "bio"),
    [
        ("I-A I-A O I-A", "B-A I-A O B-A"),  # IO
        ("I-A I-B I-B B-B", "B-A B-B I-B B-B"),  # IOB1
        ("B-A I-A B-A O", "B-A I-A B-A O"),  # BIO
        ("S-A B-A I-A E-A S-A", "B-A B-A I-A I-A B-A"),  # BIOES
        ("U-A B-A L-A I-A", "B-A B-A I-A B-A"),  # BILOU
        ("O B-A I-B I-A", "O B-A B-B B-A"),
    ],
)
def test_all_schemes_become_bio(tags, bio):
    assert to_bio(tags.split()) == bio.split()


def test_entities_are_those_of_conlleval():
    # conlleval begins a chunk at an I- that follows no chunk of its type.
    expected = [(0, 1, "A"), (1, 2, "B"), (2, 3, "B"), (4, 5, "B")]
    assert entities("I-A I-B B-B O I-B".split()) == expected and entities([]) == []


@pytest.mark.parametrize(
    "tags, expected",
    [
        ("B-ARG0 B-V B-ARG1 I-ARG1", {("ARG0", (0, 1)), ("ARG1", (2, 4))}),
        # A role that continues after a gap is one argument of two pieces.
        ("B-A1 B-V B-C-A1 I-C-A1", {("A1", (0, 1), (2, 4))}),
        ("B-A1 B-C-A1 B-C-A1 O", {("A1", (0, 1), (1, 2), (2, 3))}),
        # A continuation belongs to the last argument of its role, or is one itself.
        ("B-A1 B-A1 B-V B-C-A1", {("A1", (0, 1)), ("A1", (1, 2), (3, 4))}),
        ("B-C-A2 B-V O B-A2", {("A2", (0, 1)), ("A2", (3, 4))}),
        # A reference is a role of its own; the predicate's particle is no argument.
        ("B-R-A0 B-V B-A0 B-C-V", {("R-A0", (0, 1)), ("A0", (2, 3))}),
        ("O B-V", set()),
    ],
)
def test_arguments_are_roles_with_their_pieces(tags, expected):
    assert arguments(tags.split()) == expected


@pytest.mark.parametrize(
    "spans_of, gold, found, f1, precision, recall",
    [
        # 3 entities, 4 found, 1 right: another type, one token too many, nothing there.
        (
            entities,
            ["B-A I-A O B-B O", "B-A O", "O"],
            ["B-A I-A O B-C O", "B-A I-A", "B-A"],
            *(2 / 7, 1 / 4, 1 / 3),
        ),
        # 3 arguments: A0 is right, A1 too short, the pieces of A1 wrong. 5 were found.
        (
            arguments,
            ["B-A0 B-V B-A1 I-A1 O", "B-A1 B-V B-C-A1 O O", "O B-V O O O"],
            ["B-A0 B-V B-A1 O B-A2", "B-A1 B-V O B-C-A1 O", "B-V B-A0 O O O"],
            *(2 * 1 / (3 + 5), 1 / 5, 1 / 3),
        ),
        (entities, ["O"], ["O"], 0, 0, 0),
        (arguments, ["B-V"], ["B-V"], 0, 0, 0),
    ],
)
def test_scores_are_those_counted_by_hand(spans_of, gold, found, f1, precision, recall):
    rows = [[spans_of(tags.split()) for tags in pair] for pair in zip(gold, found)]
    numbers = np.sum([count_spans(*row) for row in rows], axis=0)
    expected = {"F1": f1, "precision": precision, "recall": recall}
    assert f1_of_spans(*numbers) == pytest.approx(expected)


def test_parts_of_speech_mark_no_spans():
    marks = map(marks_spans, (["O", "B-A"], ["INTJ", "B", "NOUN"]))
    assert [*marks] == [True, False]
