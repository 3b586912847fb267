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
    macro = np.mean(2 * right / np.maximum(total, 1))
    micro = 2 * right.sum() / max(1, total.sum())
    return {"macro F1": float(macro), "micro F1": float(micro)}


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
        triples = [(prediction, text, metric) for text in right or [""]]
        best = (max(score(*x) for x in triples) for score in (f1, exact_match))
        rows.append([*best, bool(right)])
    return np.array(rows, float)


def squad_scores(statistics: np.ndarray) -> dict[str, float]:
    """Scores from 0 to 1 as in SQuAD 1.1, 2.0 and KorQuAD 1.0, over all questions and by type."""
    names, is_answerable = ("F1", "exact match"), statistics[:, 2] > 0
    scores = dict(zip(names, statistics.mean(axis=0).tolist()))
    if not is_answerable.all():
        scores["no answer"] = float(statistics[~is_answerable, 0].mean())
        if is_answerable.any():
            means = statistics[is_answerable].mean(axis=0).tolist()
            scores |= {f"{name} of answerable": x for name, x in zip(names, means)}
    return scores


Clusters = Sequence[Sequence[Hashable]]
METRICS = "MUC", "B³", "CEAF φ4", "CEAF φ3"


def coreference_statistics(
    keys: Sequence[Clusters], responses: Sequence[Clusters]
) -> np.ndarray:
    """Of each document, both parts of each metric's recall and precision: (documents, 16).

    Precision is the metric with keys and responses exchanged.
    """
    pairs = zip(keys, responses, strict=True)
    rows = [np.stack([_recalls(k, r), _recalls(r, k)], axis=1) for k, r in pairs]
    return np.array(rows).reshape(len(keys), -1)


def _recalls(key, response):
    """The numerator and the denominator of each metric's recall: (4, 2).

    MUC counts links: a cluster that `response` splits into p parts, of which a missing
    mention is one, keeps |cluster| − p of its |cluster| − 1 links (Vilain et al. 1995). B³
    has, for each mention, the share of its cluster that is found with it (Bagga and Baldwin
    1998). CEAF pairs the clusters best, by φ₄ = 2|K∩R| / (|K| + |R|), or by their common
    mentions, φ₃ (Luo 2005).
    """
    from scipy.optimize import linear_sum_assignment  # an optional dependency

    cluster_of = {
        mention: i for i, cluster in enumerate(response) for mention in cluster
    }
    common = np.zeros((len(key), len(response)))  # mentions
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
        recall, precision = (n / of if of else 0.0 for n, of in sides)
        total = precision + recall
        f1 = 2 * precision * recall / total if total else 0.0
        scores[name] = precision, recall, f1
    return scores


def coreference_scores(statistics: np.ndarray) -> dict[str, float]:
    """F1 of each metric, and `CoNLL F1`, the mean of MUC, B³ and CEAF φ₄."""
    f1s = {name: scores[2] for name, scores in metric_scores(statistics).items()}
    return {"CoNLL F1": sum(f1s[name] for name in ("MUC", "B³", "CEAF φ4")) / 3} | f1s
