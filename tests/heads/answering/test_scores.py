"""Scores of answers against numbers worked out by hand."""

import pytest

from elmo_keras.heads.answering.scores import (
    exact_match,
    f1,
    squad_scores,
    squad_statistics,
)

EN, KO = "squad", "korquad"


@pytest.mark.parametrize(
    "metric, prediction, gold, f1_, exact",
    [
        (EN, "The Eiffel Tower!", "eiffel  tower", 1, 1),
        (EN, "a tower in Paris", "the Eiffel tower", 2 * (1 / 3 * 1 / 2) / (5 / 6), 0),
        (EN, "b b c", "b b b", 2 / 3, 0),
        (EN, "", "the", 1, 1),
        (EN, "", "tower", 0, 0),
        (EN, "state-of-the-art", "stateoftheart", 1, 1),  # punctuation goes first
        (EN, "theatre", "atre", 0, 0),
        (EN, "“Paris”", "Paris", 0, 0),  # only ASCII punctuation goes
        # In Korean, characters count, and there are no articles: both have "the".
        (KO, "서울에서", "서울", 2 / 3, 0),  # 2 of 4 and 2 of 2 characters
        (KO, "《광장》", "광장", 1, 1),
        (KO, "the 'Cave'", "The Cave", 1, 1),
        (KO, "a house", "house", 10 / 11, 0),
        (KO, "1990년 5월", "1990년5월", 1, 0),  # a space counts in the exact match
        (KO, "3.5", "35", 1, 1),
        (KO, "", "서울", 0, 0),
    ],
)
def test_scores_of_one_answer_by_hand(metric, prediction, gold, f1_, exact):
    assert f1(prediction, gold, metric) == pytest.approx(f1_)
    assert exact_match(prediction, gold, metric) == exact
    if gold != "the":  # which counts as no answer
        means = squad_scores(squad_statistics([prediction], [["x" * 99, gold]], metric))
        assert means == pytest.approx({"F1": f1_, "exact match": exact})


def test_the_best_of_several_answers_counts_and_no_answer_can_be_right():
    answers = [["Paris", "the city of Paris"], ["x"], [], [], ["the"]]
    found = squad_scores(squad_statistics(["city Paris", "", "", "Rome", ""], answers))
    of_two = 2 * (2 / 2 * 2 / 3) / (1 + 2 / 3)  # "city of Paris"
    expected = {"F1": (of_two + 0 + 1 + 0 + 1) / 5, "exact match": 2 / 5}
    expected |= {"no answer": 2 / 3, "F1 of answerable": of_two / 2}
    assert found == pytest.approx(expected | {"exact match of answerable": 0})
    assert list(found)[0] == "F1"
