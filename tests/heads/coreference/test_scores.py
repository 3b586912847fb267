"""Scores of coreference against numbers worked out by hand and those of the scripts."""

import pytest

from elmo_keras.heads.coreference import scores


def score(metric, keys, responses):
    return scores.metric_scores(scores.coreference_statistics(keys, responses))[metric]


def coreference_scores(keys, responses):
    return scores.coreference_scores(scores.coreference_statistics(keys, responses))


# The worked example of Pradhan et al. 2014.
PRADHAN_KEY = ["abc", "defg"]
PRADHAN_RESPONSE = ["ab", "cd", "fghi"]
PRADHAN = {
    "MUC": ((1 + 1) / (2 + 3), (1 + 0 + 1) / (1 + 1 + 3)),
    "B³": ((4 / 3 + 1 / 3 + 1 / 4 + 4 / 4) / 7, (4 / 2 + 1 / 2 + 1 / 2 + 4 / 4) / 8),
    "CEAF φ3": ((2 + 2) / 7, (2 + 2) / 8),
    "CEAF φ4": ((4 / 5 + 4 / 8) / 2, (4 / 5 + 4 / 8) / 3),
}

# Figure 1 of Luo 2005: one key, four responses; F1 in percent.
LUO_KEY = ["12345", "67", "89ABC"]
LUO = {
    "a": (["12345", "6789ABC"], 94.7, 86.5, 83.3, 73.3),
    "b": (["1234589ABC", "67"], 94.7, 73.7, 58.3, 66.7),
    "c": (["123456789ABC"], 90.0, 54.5, 41.7, 29.4),
    "d": (list("123456789ABC"), 0.0, 40.0, 25.0, 17.8),
}


@pytest.mark.parametrize("name", PRADHAN)
def test_the_worked_example_of_pradhan(name):
    recall, precision = PRADHAN[name]
    actual = score(name, [PRADHAN_KEY], [PRADHAN_RESPONSE])
    f1 = 2 * precision * recall / (precision + recall)
    assert actual == pytest.approx((precision, recall, f1))


@pytest.mark.parametrize("response", LUO)
def test_the_examples_of_luo(response):
    clusters, *expected = LUO[response]
    scores = coreference_scores([LUO_KEY], [clusters])
    names = "MUC", "B³", "CEAF φ3", "CEAF φ4"
    assert [round(100 * scores[name], 1) for name in names] == expected
    average = (scores["MUC"] + scores["B³"] + scores["CEAF φ4"]) / 3
    assert scores["CoNLL F1"] == pytest.approx(average)


def test_mentions_that_only_one_side_has_count_against_it():
    key, response = [[(0, 0), (1, 2)]], [[(0, 0), (1, 1)], [(5, 5), (6, 6)]]
    assert score("MUC", [key], [response]) == (0, 0, 0)
    b_cubed = score("B³", [key], [response])
    assert b_cubed[:2] == pytest.approx((1 / 2 / 4, 1 / 2 / 2))
    assert score("CEAF φ4", [key], [response])[:2] == (1 / 4, 1 / 2)


def test_single_mentions_count_as_in_the_reference_scorer():
    """They have no links for MUC; B³ and CEAF count them as any entity."""
    key, response = [["ab", "c", "d"]], [["ab", "c", "e"]]
    assert score("MUC", key, response) == (1, 1, 1)
    assert score("B³", key, response)[:2] == (3 / 4, 3 / 4)
    assert score("CEAF φ4", key, response)[:2] == (2 / 3, 2 / 3)
    assert score("CEAF φ3", key, response)[:2] == (3 / 4, 3 / 4)
    left_out = score("B³", key, [["ab"]])
    assert left_out[:2] == (1, 2 / 4)


@pytest.mark.parametrize("metric", scores.METRICS)
def test_documents_are_summed_not_averaged(metric):
    keys = [[*PRADHAN_KEY], [["x", "y"]], []]
    responses = [[*PRADHAN_RESPONSE], [], [["z", "w"]]]
    merged = [tuple(c) for c in PRADHAN_KEY] + [("x", "y")]
    together = [tuple(c) for c in PRADHAN_RESPONSE] + [("z", "w")]
    expected = score(metric, [merged], [together])
    assert score(metric, keys, responses) == pytest.approx(expected)


def test_the_same_clusters_in_any_order_score_1_and_no_clusters_score_0():
    same = ["cab", "gfed"]
    assert set(coreference_scores([PRADHAN_KEY], [same]).values()) == {1}
    assert set(coreference_scores([PRADHAN_KEY], [[]]).values()) == {0}
    assert set(coreference_scores([[]], [[]]).values()) == {0}


def test_a_better_pairing_than_the_greedy_one_is_found():
    key, response = ["abcde", "fgh"], ["abcfgh", "de"]
    # Greedy: abcde with abcfgh (3 common), fgh with de (0); best: 2 + 3.
    assert score("CEAF φ3", [key], [response])[1] == 5 / 8
