"""Scores of coreference: MUC, B³, CEAF, and the average of CoNLL-2012."""

from collections.abc import Hashable, Sequence

import numpy as np

Clusters = Sequence[Sequence[Hashable]]


# Each metric gives the numerator and the denominator of its recall.


def muc(key: Clusters, response: Clusters) -> tuple[float, float]:
    """The links of `key` that `response` keeps (Vilain et al. 1995).

    A cluster that `response` splits into p parts (a missing mention is a part by
    itself) keeps |cluster| − p of its |cluster| − 1 links.
    """
    cluster_of = _cluster_of(response)
    kept = links = 0
    for cluster in map(set, key):
        parts = [cluster_of[mention] for mention in cluster if mention in cluster_of]
        kept += len(parts) - len(set(parts))
        links += len(cluster) - 1
    return kept, links


def b_cubed(key: Clusters, response: Clusters) -> tuple[float, float]:
    """For each mention, the share of its cluster found with it (Bagga and Baldwin 1998)."""
    common = _common(key, response)
    shares = sum(np.sum(row**2) / len(set(k)) for k, row in zip(key, common))
    return float(shares), _mentions(key)


def ceaf_mentions(key: Clusters, response: Clusters) -> tuple[float, float]:
    """The common mentions of the best pairing of clusters, φ₃ of Luo 2005."""
    return _best_pairing(_common(key, response)), _mentions(key)


def ceaf_entities(key: Clusters, response: Clusters) -> tuple[float, float]:
    """The similarity φ₄ = 2|K∩R| / (|K| + |R|) of the best pairing of clusters."""
    sizes = [np.array([len(set(c)) for c in clusters]) for clusters in (key, response)]
    similarity = 2 * _common(key, response) / np.add.outer(*sizes)
    return _best_pairing(similarity), len(key)


METRICS = {
    "MUC": muc,
    "B³": b_cubed,
    "CEAF φ4": ceaf_entities,
    "CEAF φ3": ceaf_mentions,
}


def coreference_statistics(
    keys: Sequence[Clusters], responses: Sequence[Clusters]
) -> np.ndarray:
    """Of each document, both parts of each metric's recall and precision: (documents, 16).

    Precision is the metric with keys and responses exchanged.
    """
    return np.array(
        [
            [*metric(k, r), *metric(r, k)]
            for k, r in zip(keys, responses, strict=True)
            for metric in METRICS.values()
        ]
    ).reshape(len(keys), -1)


def metric_scores(statistics: np.ndarray) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F1 of each metric, summed over documents as officially."""
    scores = {}
    totals = statistics.sum(axis=0).reshape(len(METRICS), 2, 2)
    for name, sides in zip(METRICS, totals.tolist()):
        recall, precision = (n / of if of else 0.0 for n, of in sides)
        total = precision + recall
        f1 = 2 * precision * recall / total if total else 0.0
        scores[name] = precision, recall, f1
    return scores


def coreference_scores(statistics: np.ndarray) -> dict[str, float]:
    """F1 of each metric, and `CoNLL F1`, the mean of MUC, B³ and CEAF φ₄."""
    f1s = {name: scores[2] for name, scores in metric_scores(statistics).items()}
    return {"CoNLL F1": sum(f1s[name] for name in ("MUC", "B³", "CEAF φ4")) / 3} | f1s


def _best_pairing(similarity):
    from scipy.optimize import linear_sum_assignment  # an optional dependency

    pairs = linear_sum_assignment(similarity, maximize=True)
    return float(similarity[pairs].sum())


def _cluster_of(clusters):
    return {mention: i for i, cluster in enumerate(clusters) for mention in cluster}


def _mentions(clusters):
    return sum(len(set(cluster)) for cluster in clusters)


def _common(key, response):
    """The number of mentions that two clusters have in common: (key, response)."""
    cluster_of, common = _cluster_of(response), np.zeros((len(key), len(response)))
    for row, cluster in zip(common, key):
        for mention in cluster_of.keys() & cluster:
            row[cluster_of[mention]] += 1
    return common
