"""Lemmas by learned rules."""

import pytest

from elmo_keras.tasks.lemma_rules import apply_rule, lemma_rule


@pytest.mark.parametrize(
    ("form", "lemma", "other", "expected"),
    [
        ("Cities", "city", "berries", "berry"),
        ("was", "be", "WERE", "be"),
        ("NASA", "NASA", "Bush", "Bush"),
        ("BUSH", "Bush", "NATO", "Nato"),
        ("n't", "not", "n't", "not"),
        ("running", "run", "sitting", "sit"),
        ("gemacht", "machen", "gedacht", "dachen"),
        ("책을", "책+을", "물을", "물+을"),
        ("가까운", "가깝+ㄴ", "가까운", "가깝+ㄴ"),
        ("ﬁ", "fi", "x", "fi"),
        ("cities", "city", "is", "is"),  # too short for the rule
    ],
)
def test_a_rule_gives_its_lemma_and_those_of_like_forms(form, lemma, other, expected):
    rule = lemma_rule(form, lemma)
    assert apply_rule(rule, form) == lemma
    assert apply_rule(rule, other) == expected


def test_words_of_one_paradigm_have_one_rule():
    pairs = [("Cats", "cat"), ("dogs", "dog"), ("TREES", "tree")]
    assert len({lemma_rule(*pair) for pair in pairs}) == 1
