"""The graphs of trees and lemmas against the decoding in NumPy."""

import numpy as np
import tensorflow as tf

from elmo_keras.heads import DependencyParser
from elmo_keras.heads.parser import decoding
from elmo_keras.heads.parser.decoding import (
    TreeDecoder,
    apply_rule,
    lemma_rule,
    spanning_tree,
)
from elmo_keras.heads.parser.graph import answers, best_trees, graph_lemmas
from tests.support.task_models import built, text_inputs, token_vectors

PAIRS = ("Cities", "city"), ("went", "go"), ("USA", "Usa"), ("먹었다", "먹+다")
RULES = [lemma_rule(*pair) for pair in PAIRS]


def test_a_graph_finds_the_trees_of_a_batch():
    rng, graph = np.random.default_rng(0), tf.function(best_trees)
    n_words = [1, 9, 0, 17, 2, 3, 3, 40]
    scores = rng.normal(size=(8, 40, 41))
    scores[3::4, :, 0] += 3  # many would be roots
    heads = graph(tf.constant(scores), tf.constant(n_words)).numpy()
    for row, found, n in zip(scores, heads, n_words):
        expected = spanning_tree(row[:n, : n + 1]).tolist() if n else []
        assert found.tolist() == expected + [0] * (40 - n)


def test_a_graph_joins_the_pieces_of_long_sentences_in_the_same_way(monkeypatch):
    monkeypatch.setattr(decoding, "LONGEST", 4)
    rng, lengths = np.random.default_rng(0), [11, 0, 4, 5, 8, 1]
    n = sum(lengths)
    root, dependents, heads = (rng.normal(size=(n, dim)) for dim in (1, 7, 7))
    relations = {"relation": np.zeros((n, 2)), "relation_head": np.ones((n, 2))}
    scores = {"root": root, "dependent": dependents, "head": heads} | relations
    sentences = [["a"] * length for length in lengths]
    trees = TreeDecoder(["dep"], {}, {}).trees(scores, sentences)
    arcs, end = np.zeros((len(lengths), 11, 12)), 0
    for row, length in zip(arcs, lengths):
        part, end = slice(end, end + length), end + length
        row[:length, :1] = root[part]
        row[:length, 1 : length + 1] = dependents[part] @ heads[part].T
    found = best_trees(tf.constant(arcs), tf.constant(lengths), 4).numpy().tolist()
    assert found == [tree["head"] + [0] * (11 - len(tree["head"])) for tree in trees]


def test_a_graph_makes_the_lemmas_of_rules():
    forms = ["Cities", "berries", "WENT", "x", "", "먹었다", "Über", "a"]
    for i, rule in enumerate(RULES):
        found = graph_lemmas(tf.constant(forms), tf.fill([8], i), RULES, {"x": "known"})
        expected = [apply_rule(rule, form) for form in forms]
        expected[3] = "known"
        assert [lemma.decode() for lemma in found.numpy()] == expected


def test_a_graph_answers_with_the_columns_of_predict():
    texts = [["Cities", "grow", "."], [], ["known"], ["a", "b", "Cities", "d"] * 3]
    model = built(
        DependencyParser(
            token_vectors(words=["cities", "a", "b"]),
            relations=["nmod", "nsubj", "punct"],
            labels={"upos": ["N", "V", "X"], "lemma": sorted(RULES)},
            lemmas={"known": "know"},
            units=3,
            arc_units=5,
            relation_units=2,
            label_units=7,
        )
    )
    found = {k: x.numpy() for k, x in answers(model, text_inputs(tokens=texts)).items()}
    for i, tree in enumerate(model.predict(texts)):
        n = len(texts[i])
        assert found.keys() == tree.keys() - {"tokens"}
        for name, column in found.items():
            values, blank = column[i].tolist(), -1 if name == "head" else b""
            assert values[n:] == [blank] * (len(values) - n)
            values = [x if name == "head" else x.decode() for x in values[:n]]
            assert values == tree[name]
