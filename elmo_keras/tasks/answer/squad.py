"""Questions in the JSON of SQuAD 1.1 and 2.0; exact match and F1 as in SQuAD's script."""

import collections
import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.tasks.answer_text import OffsetTokens, offset_tokens
from elmo_keras.tasks.readers.lines import read_json


def read_squad(path: str | Path) -> list[dict]:
    """The questions of a file, plain or gzipped; errors name file, place and reason.

    Each has `id`; the tokens of `context` and `question`; `text`, the paragraph; `offsets`,
    its tokens with their offsets; `answers`; of the first answer that is at its offset, the
    `span`, its first and last token, and the `ending`, the characters of its last token
    after it, or None; `n_misplaced`, the number of answers that are not.
    """
    examples, key = [], "data"
    content = read_json(path)
    try:
        for i, article in enumerate(content["data"]):
            for j, paragraph in enumerate(article["paragraphs"]):
                key = f"data[{i}].paragraphs[{j}]"
                text = _check_text(paragraph["context"])
                offsets = offset_tokens(text)
                for k, question in enumerate(paragraph["qas"]):
                    key = f"data[{i}].paragraphs[{j}].qas[{k}]"
                    examples.append(_example(text, offsets, question))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else repr(error)
        raise ValueError(f"{path}: {key} is not as in SQuAD: {reason}") from None
    if not examples:
        raise ValueError(f"{path}: data should hold questions. Received: none")
    return examples


def _check_text(text):
    if not offset_tokens(text).tokens:
        raise ValueError(f"text is expected. Received: {text!r}")
    return text


def _example(text, offsets: OffsetTokens, question):
    span = ending = None
    n_misplaced, answers = 0, []
    for answer in [] if question.get("is_impossible") else question["answers"]:
        begin, answer = answer["answer_start"], _check_text(answer["text"])
        begin += len(answer) - len(answer.lstrip())
        answer = answer.strip()
        answers.append(answer)
        end = begin + len(answer)
        if begin < 0 or text[begin:end] != answer:
            n_misplaced += 1
        elif span is None and (span := offsets.span(begin, end)):
            ending = text[end : offsets.ends[span[1]]]
    return {
        "id": str(question.get("id", "")),
        "context": offsets.tokens,
        "question": offset_tokens(_check_text(question["question"])).tokens,
        "text": text,
        "offsets": offsets,
        "answers": answers,
        "span": span,
        "ending": ending,
        "n_misplaced": n_misplaced,
    }


def answer_endings(examples: Sequence[Mapping]) -> list[str]:
    """Endings of tokens that answers leave out, such as the particles of Korean eojeols.

    These are left out at least twice, and by more than half of the answers whose last
    token ends with them.
    """
    counts = collections.Counter(e["ending"] for e in examples if e["ending"])
    endings = [ending for ending, count in counts.items() if count > 1]
    last_tokens = [e["context"][e["span"][1]] for e in examples if e["span"]]
    return sorted(
        ending
        for ending in endings
        if 2 * counts[ending]
        > sum(t.endswith(ending) and t != ending for t in last_tokens)
    )


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
