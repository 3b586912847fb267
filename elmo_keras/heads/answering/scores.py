"""Scores of answers as the scripts of SQuAD and KorQuAD count.

`…_statistics` has counts for each question, of which `…_scores` takes means.
"""

import collections
import re
import string
from collections.abc import Sequence

import numpy as np

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
    """F1, exact match, and whether there is an answer, for each question: (questions, 3).

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
