"""Exact match and F1 of answers, computed as in SQuAD's official script."""

import collections
import re
import string
from collections.abc import Callable, Mapping, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(answer: str) -> str:
    """An answer in lower case, without ASCII punctuation, articles and extra spaces.

    >>> normalized(" The  answer, it's 42!")
    'answer its 42'
    """
    text = answer.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(prediction: str, gold: str) -> float:
    """1 if both are the same after normalization, else 0."""
    return float(normalized(prediction) == normalized(gold))


def f1(prediction: str, gold: str) -> float:
    """F1 of the words that both have, counted with their repetitions.

    If one of them has no words: 1 if the other has none either, else 0.

    >>> f1("the red house", "a house")  # precision 1/2, recall 1
    0.6666666666666666
    """
    predicted, wanted = normalized(prediction).split(), normalized(gold).split()
    if not predicted or not wanted:
        return float(predicted == wanted)
    common = collections.Counter(predicted) & collections.Counter(wanted)
    return 2 * common.total() / (len(predicted) + len(wanted))


def squad_scores(
    predictions: Sequence[str], answers: Sequence[Sequence[str]]
) -> Mapping[str, float]:
    """Scores over all questions, from 0 to 1.

    As in SQuAD 2.0, the best match among several right answers counts. Answers without
    any words are ignored; if none remain, no answer (`""`) is right. If all questions
    have answers, these are the scores of SQuAD 1.1.

    Args:
        predictions: one text for each question, `""` for no answer.
        answers: the right answers of each question.

    Returns:
        `F1` and `exact match`. If some questions have no answer, also both over the
        questions that have one, and `no answer`, the share of the others that were
        left unanswered.

    Raises:
        ValueError: there are no questions, or the numbers of questions and
            predictions differ.
    """
    if len(predictions) != len(answers) or not answers:
        raise ValueError(
            f"`predictions` should hold one text for each of the {len(answers)} "
            f"questions. Received: {len(predictions)}"
        )
    right = [[text for text in texts if normalized(text)] for texts in answers]
    pairs = list(zip(predictions, right))
    answerable = [pair for pair in pairs if pair[1]]
    scores = {"F1": _mean(f1, pairs), "exact match": _mean(exact_match, pairs)}
    if len(answerable) < len(pairs):
        rest = [pair for pair in pairs if not pair[1]]
        scores["no answer"] = _mean(f1, rest)
        if answerable:
            scores["F1 of answerable"] = _mean(f1, answerable)
            scores["exact match of answerable"] = _mean(exact_match, answerable)
    return scores


def _mean(score: Callable[[str, str], float], pairs) -> float:
    """The mean over questions of the score with the best match."""
    best = (max(score(p, text) for text in right or [""]) for p, right in pairs)
    return sum(best) / len(pairs)
