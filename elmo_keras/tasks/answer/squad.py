"""Questions about paragraphs, in the JSON of SQuAD 1.1 and 2.0."""

from collections.abc import Iterator
from pathlib import Path

from elmo_keras.tasks.answer.words import OffsetTokens, offset_tokens
from elmo_keras.tasks.readers.lines import decoded_json, whole_text

_KINDS = {list: "a list", str: "text", int: "a whole number"}


def read_squad(path: str | Path) -> list[dict]:
    """The questions of a file, plain or gzipped; errors name file, place and reason.

    Each is a dict of `id`; the tokens of `context` and `question`; `text`, the
    paragraph; `offsets`, its tokens with their offsets; `answers`, none if there is no
    answer; `span`, the `AnswerSpan` of the first answer that is at its offset, or None;
    `misplaced`, for each answer that is not, its text and the text found there.
    """
    examples = []
    for place, paragraph in _paragraphs(path):
        text = _text(paragraph, "context", place)
        offsets = offset_tokens(text)
        for inner, question in _items(paragraph, "qas", place):
            examples.append(_example(text, offsets, question, place=inner))
    if not examples:
        raise ValueError(f"{path}: data should hold questions. Received: none")
    found = misplaced_answers(examples)
    if found and not any(example["span"] for example in examples):
        raise ValueError(
            f"{path}: answer_start should be the number of characters in the context "
            f"before an answer. Received: {found}"
        )
    return examples


def misplaced_answers(examples: list[dict]) -> str:
    """How many answers are not at their offset, and the first one; `""` for none."""
    found = [(e["id"], *pair) for e in examples for pair in e["misplaced"]]
    if not found:
        return ""
    question, expected, there = found[0]
    n_answers = sum(len(example["answers"]) for example in examples)
    return (
        f"{len(found):,} of {n_answers:,} answers are not at their answer_start, first "
        f"that of question {question!r}: {_short(expected)} is expected there, and "
        f"{_short(there)} is found"
    )


def _short(text):
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def _paragraphs(path) -> Iterator:
    # The whole file at once: SQuAD's files are a single line of megabytes.
    content = decoded_json(path, 1, whole_text(path))
    for place, article in _items(content, "data", f"{path}: "):
        yield from _items(article, "paragraphs", place)


def _items(parent, key, place):
    """The elements of a list in a JSON object, each with the prefix of its place."""
    for i, item in enumerate(_value(parent, key, place, kind=list)):
        yield f"{place}{key}[{i}].", item


def _value(parent, key, place, *, kind):
    value = parent.get(key) if isinstance(parent, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(
            f"{place}{key} should be {_KINDS[kind]}. Received: {str(value)[:40]!r}"
        )
    return value


def _text(parent, key, place):
    text = _value(parent, key, place, kind=str)
    if not offset_tokens(text).tokens:
        raise ValueError(f"{place}{key} should be text. Received: {text!r}")
    return text


def _example(text, offsets: OffsetTokens, question, *, place):
    spans, misplaced = [], []
    answers = list(_answers(question, place))
    for answer, begin in answers:
        end = begin + len(answer)
        found = text[begin:end] if begin >= 0 else ""
        if found == answer:
            spans.append(offsets.span(begin, end))
        else:
            misplaced.append((answer, found))
    return {
        "id": str(question.get("id", "")),
        "context": offsets.tokens,
        "question": offset_tokens(_text(question, "question", place)).tokens,
        "text": text,
        "offsets": offsets,
        "answers": [answer for answer, _ in answers],
        "span": spans[0] if spans else None,
        "misplaced": misplaced,
    }


def _answers(question, place):
    """Text and offset of each answer, both without white space around it."""
    if isinstance(question, dict) and question.get("is_impossible"):
        return
    for answer_place, answer in _items(question, "answers", place):
        offset = _value(answer, "answer_start", answer_place, kind=int)
        text = _text(answer, "text", answer_place)
        yield text.strip(), offset + len(text) - len(text.lstrip())
