"""Reads questions with answers in a text, as SQuAD has them."""

import collections
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_keras.heads.answering.decoding import OffsetTokens, offset_tokens
from elmo_keras.heads.reading import read_json


def read_squad(path: str | Path) -> list[dict]:
    """The questions of a file of SQuAD 1.1, 2.0 or KorQuAD 2, or of lines as Hugging Face's.

    Each line is a JSON object: a `context` and `question` with its `answers`, an object of
    the lists `text` and `answer_start`. Errors name the file and the question.

    Each has `id`; the tokens of `context` and `question`; `text`, the paragraph; `offsets`,
    its tokens with their offsets; `answers`; of the first answer that is at its offset, the
    `span`, its first and last token, and the `ending`, the characters of its last token
    after it, or None; `n_misplaced`, the number of answers that are not.
    """
    return read_questions(read_json(path), path)


def read_questions(content: Any, source: str | Path) -> list[dict]:
    """The same as `read_squad`, from the content of such a file, or of a list of its lines."""
    examples, key = [], "data"
    try:
        for place, paragraph in _paragraphs(content):
            key = place
            text = _check_text(paragraph["context"])
            offsets = offset_tokens(text)
            for k, question in enumerate(paragraph.get("qas", [paragraph])):
                key = f"{place}.qas[{k}]" if "qas" in paragraph else place
                examples.append(_question(text, offsets, question))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else repr(error)
        raise ValueError(f"{source}: {key} is not as in SQuAD: {reason}") from None
    if not examples:
        raise ValueError(f"{source}: data should hold questions. Received: none")
    return examples


def _paragraphs(content):
    """The place and the object of each paragraph, or of each question with its context."""
    if not isinstance(content, list):
        content = content.get("data", [content])
    for i, article in enumerate(content):
        if "paragraphs" not in article:
            yield f"data[{i}]", article
            continue
        for j, paragraph in enumerate(article["paragraphs"]):
            yield f"data[{i}].paragraphs[{j}]", paragraph


def _check_text(text):
    if not offset_tokens(text).tokens:
        raise ValueError(f"text is expected. Received: {text!r}")
    return text


def _question(text, offsets: OffsetTokens, question):
    span = ending = None
    n_misplaced, answers = 0, []
    for begin, answer in _answers(question):
        begin += len(answer) - len(answer.lstrip())
        answers.append(_check_text(answer).strip())
        end = begin + len(answers[-1])
        if begin < 0 or text[begin:end] != answers[-1]:
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


def _answers(question):
    if question.get("is_impossible"):
        return []
    # KorQuAD 2 has one answer.
    answers = [question["answer"]] if "answer" in question else question["answers"]
    if isinstance(answers, dict):  # columns
        return zip(answers["answer_start"], answers["text"], strict=True)
    return [(answer["answer_start"], answer["text"]) for answer in answers]


def answer_endings(examples: Sequence[Mapping]) -> list[str]:
    """Endings of tokens that answers leave out, such as the particles of Korean eojeols.

    These are left out at least twice, and by more than half of the answers whose last
    token ends with them.
    """
    counts = collections.Counter(e["ending"] for e in examples if e["ending"])
    tokens = [e["context"][e["span"][1]] for e in examples if e["span"]]
    return sorted(
        ending
        for ending, n in counts.items()
        if n > 1 and 2 * n > sum(t.endswith(ending) and t != ending for t in tokens)
    )
