"""Tagging as a task."""

import pytest

from elmo_keras.heads import EntityTagging, RoleTagging, Tagger
from elmo_keras.heads.tagger.span_ends import ENDS, SHAPE
from tests.support.task_models import scores_of, token_vectors


def test_roles_are_scored_without_their_predicate_and_learned_with_it():
    tags, predicted, task = ["B-A0", "B-V", "O"], [["O", "B-V", "O"]], RoleTagging()
    examples = [{"predicate": [0, 1, 0], "tags": tags}]
    tagger = Tagger(token_vectors(), tags=tags, units=2, predicate_dim=3)
    assert task.targets(examples, tagger)[0].tolist() == [0, 1, 2]
    scores = scores_of(task, tagger, examples, predicted)
    assert scores["F1"] == 0 and scores["accuracy"] == pytest.approx(2 / 3)
    assert scores_of(EntityTagging(), tagger, examples, predicted)["recall"] == 1 / 2


@pytest.mark.parametrize("n_within", [1, 2])
def test_where_spans_end_is_learned_if_many_end_within_a_word(n_within):
    ends = [("서울에서", "LOC", 2), ("부산에서", "LOC", 2), *[("Ann", "PER", 0)] * 30]
    examples = [{"left_out": [end]} for end in ends[2 - n_within :]]
    arrays = EntityTagging().head_arrays(examples + [{}])
    assert {name: array.shape for name, array in arrays.items()} == (
        {ENDS: SHAPE} if n_within == 2 else {}
    )
