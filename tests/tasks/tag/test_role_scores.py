"""Semantic roles, as the script of CoNLL-2005 counts them."""

import pytest

from elmo_keras.tasks.tag.__main__ import TASK
from elmo_keras.tasks.tag.entities import arguments, role_scores
from elmo_keras.tasks.tag.tagged_text import read_roles
from elmo_keras.tasks.tag.tagger import Tagger
from tests.support.task_models import token_vectors


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


def test_scores_are_those_counted_by_hand_without_the_predicates():
    gold = ["B-A0 B-V B-A1 I-A1 O", "B-A1 B-V B-C-A1 O O", "O B-V O O O"]
    found = ["B-A0 B-V B-A1 O B-A2", "B-A1 B-V O B-C-A1 O", "B-V B-A0 O O O"]
    # 3 arguments: A0 is right, A1 too short, the pieces of A1 wrong. 5 were found.
    assert role_scores(*([row.split() for row in rows] for rows in (gold, found))) == {
        "F1": pytest.approx(2 * 1 / (3 + 5)),
        "precision": pytest.approx(1 / 5),
        "recall": pytest.approx(1 / 3),
    }
    nothing = role_scores([["B-V"]], [["B-V"]])
    assert nothing == {"F1": 0, "precision": 0, "recall": 0}


def test_the_task_scores_roles_without_their_predicate_and_learns_it():
    examples = [{"predicate": [0, 1, 0], "tags": ["B-A0", "B-V", "O"]}]
    tagger = Tagger(token_vectors(), ["B-A0", "B-V", "O"], units=2, predicate_dim=3)
    assert TASK.targets(examples, tagger)[0].tolist() == [0, 1, 2]
    scores = TASK.scores(tagger, examples, [[2, 1, 2]])
    assert scores["F1"] == 0 and scores["accuracy"] == pytest.approx(2 / 3)
    entities = Tagger(token_vectors(), ["B-A0", "B-V", "O"], units=2)
    assert TASK.scores(entities, examples, [[2, 1, 2]])["recall"] == 1 / 2


def test_the_predicates_of_real_roles_are_a_third_of_their_spans(data):
    examples = read_roles(data("en_srl_ewt/dev.conll"))
    tags = [example["tags"] for example in examples]
    n_spans = sum(tag.startswith("B-") for row in tags for tag in row)
    n_predicates = sum(tag == "B-V" for row in tags for tag in row)
    assert 0.3 < n_predicates / n_spans < 0.33
    n_pieces = sum(len(argument) - 1 for row in tags for argument in arguments(row))
    n_particles = sum(tag == "B-C-V" for row in tags for tag in row)
    assert n_pieces == n_spans - n_predicates - n_particles
