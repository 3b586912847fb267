"""Entities, as conlleval counts them."""

import pytest

from elmo_keras.tasks.tag.entities import Entity, entities, entity_scores, to_bio


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
    assert entities("I-A I-B B-B O I-B".split()) == [
        Entity(0, 1, "A"),
        Entity(1, 2, "B"),
        Entity(2, 3, "B"),
        Entity(4, 5, "B"),
    ]
    assert entities([]) == []


def test_scores_are_those_counted_by_hand():
    gold = ["B-A I-A O B-B O".split(), "B-A O".split(), "O".split()]
    predicted = ["B-A I-A O B-C O".split(), "B-A I-A".split(), "B-A".split()]
    # 3 entities, 4 found, 1 right: another type, one token too many, nothing there.
    assert entity_scores(gold, predicted) == {
        "F1": pytest.approx(2 / 7),
        "precision": pytest.approx(1 / 4),
        "recall": pytest.approx(1 / 3),
    }
    nothing = entity_scores([["O"]], [["O"]])
    assert nothing == {"F1": 0, "precision": 0, "recall": 0}
