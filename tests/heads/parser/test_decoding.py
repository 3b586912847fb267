"""Dependency trees by scores, and their columns."""

import itertools

import numpy as np
import pytest

from elmo_keras.heads.parser.decoding import (
    apply_rule,
    decode_tree,
    encode_tree,
    known_lemmas,
    lemma_rule,
    spanning_tree,
)


def trees(n):
    """The heads of all trees of n words whose root has one dependent."""
    for heads in itertools.product(range(n + 1), repeat=n):
        reached = {0}
        for _ in heads:
            reached |= {i for i, head in enumerate(heads, 1) if head in reached}
        if heads.count(0) == 1 and len(reached) == n + 1:
            yield list(heads)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_no_tree_with_one_root_has_a_higher_sum(n):
    rng, rows, known = np.random.default_rng(n), np.arange(n), [*trees(n)]
    assert len(known) == n ** (n - 1)  # Cayley's formula, rooted
    for _ in range(40):
        scores = rng.normal(size=(n, n + 1)).astype(np.float32)
        best = max(known, key=lambda heads: scores[rows, heads].sum(dtype=float))
        assert spanning_tree(scores).tolist() == best


def test_a_chain_of_cycles_becomes_a_tree():
    # Each pair of words prefers itself to all others, and all prefer words to the root.
    scores = np.zeros((400, 401))
    scores[:, 0] = -5
    scores[np.arange(400), 1 + (np.arange(400) ^ 1)] = 9
    heads = spanning_tree(scores)
    assert (heads == 0).sum() == 1
    for _ in range(9):
        heads = np.append(0, heads)[np.append(0, heads)][1:]  # the head of the head
    assert not heads.any()


def test_columns_are_those_that_were_encoded():
    sentence = {"tokens": ["Cats", "slept", "oddly"], "head": [2, 0, 2]}
    sentence |= {"deprel": ["nsubj", "root", "advmod"]}
    sentence |= {"upos": ["NOUN", "VERB", "ADV"], "lemma": ["cat", "sleep", None]}
    rules = ["lower\t0\t\t1\t", "lower\t0\t\t2\tep", "lower\t0\t\t0\t"]
    names = ["advmod", "nsubj"], {"upos": ["NOUN", "VERB"], "lemma": rules}
    rows = encode_tree(sentence, *names)
    assert rows.tolist() == [[2, 1, 0, 0], [0, -1, 1, 1], [2, 0, -1, -1]]
    rows[2, 2:] = [1, 2]
    expected = sentence | {"upos": ["NOUN", "VERB", "VERB"]}
    expected |= {"lemma": ["cat", "sleep", "oddly"]}
    assert decode_tree(sentence["tokens"], rows, *names, {}) == expected
    known = {"slept": "sleep", "oddly": "odd"}
    expected["lemma"][2] = "odd"
    assert decode_tree(sentence["tokens"], rows, *names, known) == expected


def test_lemmas_of_forms_are_known_if_nine_of_ten_are_the_same():
    tokens = ["It", *["saw"] * 4, *["bought"] * 10]
    lemmas = [None, *["see"] * 3, "saw", *["buy"] * 9, "bought"]
    assert known_lemmas([{"tokens": tokens, "lemma": lemmas}]) == {"bought": "buy"}


@pytest.mark.parametrize(
    ("form", "lemma", "other", "expected"),
    [
        ("Cities", "city", "berries", "berry"),
        ("was", "be", "WERE", "be"),
        ("NASA", "NASA", "Bush", "Bush"),
        ("BUSH", "Bush", "NATO", "Nato"),
        ("running", "run", "sitting", "sit"),
        ("gemacht", "machen", "gedacht", "dachen"),
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
