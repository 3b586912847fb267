"""Dependency trees by scores, and their columns."""

import itertools

import numpy as np
import pytest

from elmo_keras.heads.parser.decoding import (
    TreeDecoder,
    apply_rule,
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
    rng, rows, all_trees = np.random.default_rng(n), np.arange(n), [*trees(n)]
    assert len(all_trees) == n ** (n - 1)  # Cayley's formula, rooted
    for _ in range(40):
        scores = rng.normal(size=(n, n + 1)).astype(np.float32)
        best = max(all_trees, key=lambda heads: scores[rows, heads].sum(dtype=float))
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


def scores_of(tree, relations, labels):
    """The outputs of a parser of one sentence, whose best tree has encoded `rows`."""
    rows, n = encode_tree(tree, relations, labels), len(tree["head"])
    heads = np.zeros((n, n + 1), np.float32)
    heads[np.arange(n), rows[:, 0]] = 5
    relation = np.eye(len(relations), dtype=np.float32)[rows[:, 1]]
    scores = {
        "root": heads[:, :1],
        "dependent": heads[:, 1:],
        "head": np.eye(n, dtype=np.float32),
        "relation": np.stack([0 * relation, 3 * relation], axis=2).reshape(n, -1),
        "relation_head": np.ones((n, 2), np.float32),
    }
    columns = zip(labels.items(), rows[:, 2:].T)
    return scores | {k: np.eye(len(x), dtype=np.float32)[i] for (k, x), i in columns}


SENTENCE = {"tokens": ["Cats", "slept", "oddly"], "head": [2, 0, 2]}
SENTENCE |= {"deprel": ["nsubj", "root", "advmod"]}
SENTENCE |= {"upos": ["NOUN", "VERB", "ADV"], "lemma": ["cat", "sleep", None]}
RULES = ["lower\t0\t\t1\t", "lower\t0\t\t2\tep", "lower\t0\t\t0\t"]
NAMES = ["advmod", "nsubj"], {"upos": ["NOUN", "VERB"], "lemma": RULES}


def test_columns_are_those_that_were_encoded():
    rows = encode_tree(SENTENCE, *NAMES)
    assert rows.tolist() == [[2, 1, 0, 0], [0, -1, 1, 1], [2, 0, -1, -1]]
    scores = scores_of(SENTENCE, *NAMES)  # −1 is the last label
    expected = SENTENCE | {"upos": ["NOUN", "VERB", "VERB"]}
    expected |= {"lemma": ["cat", "sleep", "oddly"]}
    lexicon = {"slept": "sleep", "oddly": "odd"}
    for lemmas, lemma in (({}, "oddly"), (lexicon, "odd")):
        decoder = TreeDecoder(*NAMES, lemmas)
        tokens = SENTENCE["tokens"]
        tree, empty, again = decoder.trees(twice(scores), [tokens, [], tokens])
        assert not any(empty.values())
        expected["lemma"][2] = lemma
        assert tree == again
        assert {name: tree[name] for name in expected} == expected


def twice(scores):
    """The outputs for the same sentence twice."""
    return {name: np.concatenate([x, x]) for name, x in scores.items()}


def test_a_score_is_the_probability_of_the_head_and_its_relation():
    decoder = TreeDecoder(*NAMES, {})
    scores = scores_of(SENTENCE, *NAMES)
    scores["dependent"][0] = [7, 5, 4]  # a word is not its own head
    (tree,) = decoder.trees(scores, [SENTENCE["tokens"]])
    e5, e3 = np.exp(5), np.exp(3)
    arcs = [e5 / (e5 + np.exp(4) + 1), e5 / (e5 + 2), e5 / (e5 + 2)]
    relations = [e3 / (1 + e3), 1, e3 / (1 + e3)]
    assert tree["score"] == pytest.approx(np.multiply(arcs, relations), rel=1e-6)


def test_a_lemma_that_nobody_wrote_gives_way_to_a_likely_one():
    pairs = ("sitting", "sitte"), ("sitting", "sit"), ("sitting", "si")
    rules = [lemma_rule(*pair) for pair in pairs]
    decoder = TreeDecoder(["x"], {"lemma": rules}, {"sat": "sit"})
    tree = {"tokens": ["sitting"], "head": [0], "deprel": ["root"], "lemma": ["sitte"]}
    scores = scores_of(tree, ["x"], {"lemma": rules})

    def lemma(likely, words):
        scores["lemma"] = np.log(np.array([likely], np.float32))
        (result,) = decoder.trees(scores, [["sitting"]], words)
        return result["lemma"]

    assert lemma([0.8, 0.1, 0.1], None) == ["sitte"]
    assert lemma([0.8, 0.1, 0.1], ()) == lemma([0.8, 0.05, 0.15], ["si"]) == ["sit"]
    assert lemma([0.8, 0.001, 0.199], ["si"]) == ["si"]
    assert lemma([0.8, 0.1, 0.1], ["sitte"]) == ["sitte"]


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
