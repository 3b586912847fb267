"""Clusters of mentions, and how likely mentions belong to them."""

import numpy as np
import pytest

from elmo_keras.heads.coreference.decoding import find_clusters, mention_scores


def outputs(scores, antecedents, alone):
    first = np.arange(len(scores))
    columns = {"first": first, "last": first + 1, "scores": scores}
    return columns | {"antecedents": antecedents, "mention_scores": alone}


def test_a_span_is_linked_to_its_best_antecedent_or_alone_or_no_mention():
    rng, n = np.random.default_rng(0), 30
    antecedents = np.array([rng.permutation(n)[:5] % max(i, 1) for i in range(n)])
    scores = rng.normal(size=(n, 6))
    scores[:, 0] = 1.0  # of no antecedent
    scores[0, 0] = 9.0  # there is none before the first
    alone = rng.normal(size=n)
    expected, cluster_of = [], []
    for i, row in enumerate(scores):
        best = max(range(6), key=row.__getitem__)
        cluster = cluster_of[antecedents[i, best - 1]] if best else []
        expected += [] if best else [cluster]
        cluster.append((i, i + 1))
        cluster_of.append(cluster)
    document = outputs(scores, antecedents, alone)
    linked = [cluster for cluster in expected if len(cluster) > 1]
    single = [c for c in expected if len(c) > 1 or alone[c[0][0]] > 0]
    assert 0 < len(linked) < len(single) < len(expected)
    assert find_clusters(document) == linked
    assert find_clusters(document, singletons=True) == single
    nothing = outputs(np.zeros((0, 1)), np.zeros((0, 0), int), np.zeros(0))
    assert find_clusters(nothing) == []


def test_the_score_of_a_mention_is_the_probability_of_links_in_its_cluster():
    p = [[1, 0, 0, 0], [0.3, 0.7, 0, 0], [0.8, 0.1, 0.1, 0], [0.05, 0.1, 0.8, 0.05]]
    with np.errstate(divide="ignore"):
        scores = np.log(p)
    antecedents = np.array([[0, 1, 2]] * 4)
    document = outputs(scores, antecedents, np.array([9, 9, 0.5, 9]))
    clusters = find_clusters(document, singletons=True)
    assert clusters == [[(0, 1), (1, 2), (3, 4)], [(2, 3)]]
    likely = mention_scores(document, clusters)
    alone = 0.8 / (1 + np.exp(-0.5))
    expected = {(0, 1): 0.7, (1, 2): 0.8, (2, 3): alone, (3, 4): 0.9}
    assert likely == pytest.approx(expected)
    assert mention_scores(document, clusters[:1]).keys() == {*clusters[0]}
