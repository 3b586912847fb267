"""Clusters of mentions, from links and from scores."""

import numpy as np

from elmo_keras.heads.coreference.decoding import clusters_of_links, find_clusters


def test_links_become_clusters_and_mentions_without_links_if_asked_for():
    links = np.array(
        [[0, 0, -1], [1, 1, -2], [2, 2, 1], [3, 3, -2], [4, 4, -1], [5, 5, 4]]
    )
    expected = [[(0, 0)], [(1, 1), (2, 2)], [(4, 4), (5, 5)]]
    assert clusters_of_links(links, singletons=True) == expected
    assert clusters_of_links(links) == expected[1:]
    links = np.array(
        [[0, 0, -1], [1, 1, -1], [2, 2, 0], [3, 3, 1], [4, 4, 2], [5, 5, -1]]
    )
    assert clusters_of_links(links) == [[(0, 0), (2, 2), (4, 4)], [(1, 1), (3, 3)]]
    assert clusters_of_links(np.zeros((0, 3), int)) == []


def test_a_span_is_linked_to_its_best_antecedent_or_alone_or_no_mention():
    rng, n = np.random.default_rng(0), 30
    antecedents = np.array([rng.permutation(n)[:5] % max(i, 1) for i in range(n)])
    scores = rng.normal(size=(n, 6))
    scores[:, 0] = 1.0  # of no antecedent
    scores[0, 0] = 9.0  # there is none before the first
    outputs = {"first": np.arange(n), "last": np.arange(n) + 1}
    outputs |= {"scores": scores, "antecedents": antecedents}
    outputs["mention_scores"] = mention_scores = rng.normal(size=n)
    links = np.zeros((n, 3), int)
    for i, row in enumerate(scores):
        best = max(range(6), key=row.__getitem__)
        alone = -1 if mention_scores[i] > 0 else -2
        links[i] = i, i + 1, antecedents[i, best - 1] if best else alone
    assert {-1, -2} < {*links[:, 2]}
    expected = clusters_of_links(links, singletons=True)
    assert find_clusters(outputs, singletons=True) == expected
    assert find_clusters(outputs) == [c for c in expected if len(c) > 1]
    assert 0 < len(find_clusters(outputs)) < len(expected)
