"""Scores of labels, of answers as SQuAD's scripts count, and of coreference as CoNLL-2012's.

`…_statistics` has counts for each example, of which `…_scores` takes sums or means.
"""

import collections
import re
import string
from collections.abc import Hashable, Sequence

import numpy as np


def label_scores(statistics: np.ndarray) -> dict[str, float]:
    """Accuracy of `(examples, 1)`, whether each is right; or F1 by label and over all.

    For several labels the columns are whether each label is right, is expected, and is
    predicted: `(examples, 3 · labels)`. F1 = 2 · right / (expected + predicted).
    """
    if statistics.shape[1] == 1:
        return {"accuracy": float(statistics.mean())}
    right, expected, predicted = np.split(statistics.sum(axis=0), 3)
    total = expected + predicted
    macro = 2 * right / np.maximum(total, 1)
    micro = 2 * right.sum() / max(1, total.sum())
    return {"macro F1": float(macro.mean()), "micro F1": float(micro)}


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_KOREAN_SIGNS = str.maketrans(dict.fromkeys("'\"‘’()<>〈〉《》", " "))


def normalize(answer: str, metric: str = "squad") -> str:
    """An answer as it is compared: in lower case, without ASCII punctuation and extra spaces.

    For SQuAD, articles go as well; for KorQuAD, quotes and brackets become spaces.
    """
    if metric == "korquad":
        answer = answer.translate(_KOREAN_SIGNS)
    text = answer.lower().translate(_PUNCTUATION)
    if metric == "squad":
        text = _ARTICLES.sub(" ", text)
    return " ".join(text.split())


def exact_match(prediction: str, gold: str, metric: str = "squad") -> float:
    return float(normalize(prediction, metric) == normalize(gold, metric))


def f1(prediction: str, gold: str, metric: str = "squad") -> float:
    """F1 of the words (squad) or characters that both have; if one has none, equality."""
    predicted, wanted = (normalize(text, metric).split() for text in (prediction, gold))
    if metric == "korquad":
        predicted, wanted = list("".join(predicted)), list("".join(wanted))
    if not predicted or not wanted:
        return float(predicted == wanted)
    common = collections.Counter(predicted) & collections.Counter(wanted)
    return 2 * common.total() / (len(predicted) + len(wanted))


def squad_statistics(
    predictions: Sequence[str], answers: Sequence[Sequence[str]], metric: str = "squad"
) -> np.ndarray:
    """Of each question: F1, exact match, and whether it has an answer: (questions, 3).

    The best match among several right answers counts. Answers without any words are
    ignored; if none remain, no answer (`""`) is right.
    """
    rows = []
    for prediction, texts in zip(predictions, answers, strict=True):
        right = [text for text in texts if normalize(text, metric)]
        best = [
            max(score(prediction, text, metric) for text in right or [""])
            for score in (f1, exact_match)
        ]
        rows.append([*best, bool(right)])
    return np.array(rows, float)


def squad_scores(statistics: np.ndarray) -> dict[str, float]:
    """Scores from 0 to 1 as in SQuAD 1.1, 2.0 and KorQuAD 1.0, over all questions and by type."""
    scores = _means(statistics)
    is_answerable = statistics[:, 2] > 0
    if not is_answerable.all():
        scores["no answer"] = _means(statistics[~is_answerable])["F1"]
        if is_answerable.any():
            means = _means(statistics[is_answerable])
            scores |= {f"{name} of answerable": mean for name, mean in means.items()}
    return scores


def _means(statistics) -> dict[str, float]:
    f1, exact, _ = statistics.mean(axis=0).tolist()
    return {"F1": f1, "exact match": exact}


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
