"""Exact match and F1 of answers, computed as in SQuAD's and KorQuAD's scripts."""

import collections
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_KOREAN_SIGNS = str.maketrans(dict.fromkeys("'\"‘’()<>〈〉《》", " "))


def normalized(answer: str) -> str:
    """An answer in lower case, without ASCII punctuation, articles and extra spaces."""
    text = answer.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def korean_normalized(answer: str) -> str:
    """An answer as KorQuAD compares it: in lower case, quotes and brackets become spaces."""
    text = answer.translate(_KOREAN_SIGNS).lower().translate(_PUNCTUATION)
    return " ".join(text.split())


class Convention(NamedTuple):
    """How answers are compared: their normalized text, and the parts that F1 counts."""

    normalized: Callable[[str], str]
    parts: Callable[[str], Sequence[str]]


CONVENTIONS = {
    "squad": Convention(normalized, str.split),
    "korquad": Convention(korean_normalized, lambda text: list("".join(text.split()))),
}
SQUAD = CONVENTIONS["squad"]


def exact_match(prediction: str, gold: str, convention: Convention = SQUAD) -> float:
    return float(convention.normalized(prediction) == convention.normalized(gold))


def f1(prediction: str, gold: str, convention: Convention = SQUAD) -> float:
    """F1 of the words (SQuAD) or characters (KorQuAD) that both have, with repetitions.

    If one of the answers has none: 1 if the other has none either, else 0.
    """
    predicted, wanted = (
        convention.parts(convention.normalized(text)) for text in (prediction, gold)
    )
    if not predicted or not wanted:
        return float(predicted == wanted)
    common = collections.Counter(predicted) & collections.Counter(wanted)
    return 2 * common.total() / (len(predicted) + len(wanted))


def squad_scores(
    predictions: Sequence[str],
    answers: Sequence[Sequence[str]],
    convention: Convention = SQUAD,
) -> Mapping[str, float]:
    """Scores over all questions, from 0 to 1, as in SQuAD 1.1, 2.0 and KorQuAD 1.0.

    The best match among several right answers counts. Answers without any words are
    ignored; if none remain, no answer (`""`) is right. If some questions have no answer,
    there are also both scores over those that have one, and `no answer`, the share of the
    others that were left unanswered.
    """
    if len(predictions) != len(answers) or not answers:
        raise ValueError(
            f"`predictions` should hold one text for each of the {len(answers)} "
            f"questions. Received: {len(predictions)}"
        )
    right = [list(filter(convention.normalized, texts)) for texts in answers]
    pairs = list(zip(predictions, right))
    answerable = [pair for pair in pairs if pair[1]]
    scores = _means(pairs, convention)
    if len(answerable) < len(pairs):
        rest = [pair for pair in pairs if not pair[1]]
        scores["no answer"] = _means(rest, convention)["F1"]
        if answerable:
            means = _means(answerable, convention)
            scores |= {f"{name} of answerable": mean for name, mean in means.items()}
    return scores


def _means(pairs, convention):
    return {
        name: sum(
            max(score(prediction, text, convention) for text in right or [""])
            for prediction, right in pairs
        )
        / len(pairs)
        for name, score in (("F1", f1), ("exact match", exact_match))
    }
