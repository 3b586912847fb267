"""Scores of coreference as CoNLL-2012's scorer counts.

`coreference_statistics` counts in each document; the scores are of the sums.
"""

from collections.abc import Hashable, Sequence

import numpy as np

Clusters = Sequence[Sequence[Hashable]]
METRICS = "MUC", "B³", "CEAF φ4", "CEAF φ3"


def coreference_statistics(
    keys: Sequence[Clusters], responses: Sequence[Clusters]
) -> np.ndarray:
    """The fractions of each metric's recall and precision by document: (documents, 16).

    Precision is the metric with keys and responses exchanged.
    """
    pairs = zip(keys, responses, strict=True)
    rows = [np.stack([_recalls(k, r), _recalls(r, k)], axis=1) for k, r in pairs]
    return np.array(rows).reshape(len(keys), -1)


def _recalls(key, response):
    """The numerator and the denominator of each metric's recall: (4, 2).

    MUC counts links: a cluster that `response` splits into p parts (a missing mention is a
    part) keeps |cluster| − p of its |cluster| − 1 links (Vilain et al. 1995). B³
    has, for each mention, the share of its cluster that is found with it (Bagga and Baldwin
    1998). CEAF pairs the clusters best, by φ₄ = 2|K∩R| / (|K| + |R|), or by their common
    mentions, φ₃ (Luo 2005).
    """
    from scipy.optimize import linear_sum_assignment  # an optional dependency

    cluster_of = {
        mention: i for i, cluster in enumerate(response) for mention in cluster
    }
    common = np.zeros((len(key), len(response)))  # numbers of mentions
    for row, cluster in zip(common, key):
        for mention in cluster_of.keys() & cluster:
            row[cluster_of[mention]] += 1
    sizes, others = (np.array([len({*c}) for c in side]) for side in (key, response))
    similarity = 2 * common / np.add.outer(sizes, others)
    phi4, phi3 = (
        values[linear_sum_assignment(values, maximize=True)].sum()
        for values in (similarity, common)
    )
    return [
        (common.sum() - np.count_nonzero(common), (sizes - 1).sum()),
        ((np.square(common).sum(axis=1) / sizes).sum(), sizes.sum()),
        (phi4, len(key)),
        (phi3, sizes.sum()),
    ]


def metric_scores(statistics: np.ndarray) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F1 of each metric, summed over documents as officially."""
    scores = {}
    totals = statistics.sum(axis=0).reshape(len(METRICS), 2, 2)
    for name, sides in zip(METRICS, totals.tolist()):
        recall, precision = (n / all_ if all_ else 0.0 for n, all_ in sides)
        total = precision + recall
        f1 = 2 * precision * recall / total if total else 0.0
        scores[name] = precision, recall, f1
    return scores


def coreference_scores(statistics: np.ndarray) -> dict[str, float]:
    """F1 of each metric, and `CoNLL F1`, the mean of MUC, B³ and CEAF φ₄."""
    f1s = {name: scores[2] for name, scores in metric_scores(statistics).items()}
    return {"CoNLL F1": sum(f1s[name] for name in ("MUC", "B³", "CEAF φ4")) / 3} | f1s
