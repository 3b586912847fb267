"""Questions about paragraphs, in the JSON of SQuAD 1.1 and 2.0."""

from collections.abc import Iterator
from pathlib import Path

from elmo_keras.tasks.answer.offset_tokens import OffsetTokens, offset_tokens
from elmo_keras.tasks.readers.json_text import decoded_json
from elmo_keras.tasks.readers.lines import malformed

_KINDS = {list: "a list", str: "text", int: "a whole number"}


def read_squad(path: str | Path) -> list[dict]:
    """The questions of a file.

    Returns:
        For each question a dict: `id`; the tokens of `context` and `question`;
        `text`, the paragraph; `offsets`, its tokens with their offsets; `answers`,
        all answer texts, none if the question has no answer; `span`, first and last
        token of the first answer that is found at its offset and consists of whole
        tokens, or None.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not such JSON; the message names file, place and
            reason.
    """
    examples = []
    for place, paragraph in _paragraphs(path):
        text = _text(paragraph, "context", place)
        offsets = offset_tokens(text)
        for inner, question in _items(paragraph, "qas", place):
            examples.append(_example(text, offsets, question, place=inner))
    if not examples:
        raise ValueError(f"{path}: data should hold questions. Received: none")
    return examples


def unaligned(examples: list[dict]) -> int:
    """The number of questions with answers, but none that consists of whole tokens."""
    return sum(bool(e["answers"]) and e["span"] is None for e in examples)


def _paragraphs(path) -> Iterator:
    """Each paragraph with its place in the file."""
    content = decoded_json(path, 1, _text_of_file(path))
    for place, article in _items(content, "data", f"{path}: "):
        yield from _items(article, "paragraphs", place)


def _text_of_file(path):
    """The whole file at once: SQuAD's files are a single line of megabytes."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise malformed(path, line, f"should be UTF-8. {error}") from None


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
    answers = _answers(question, place)
    spans = (_span(text, offsets, answer) for answer in answers)
    return {
        "id": str(question.get("id", "")),
        "context": offsets.tokens,
        "question": offset_tokens(_text(question, "question", place)).tokens,
        "text": text,
        "offsets": offsets,
        "answers": [answer for answer, _ in answers],
        "span": next(filter(None, spans), None),
    }


def _answers(question, place):
    """Text and offset of each answer."""
    if isinstance(question, dict) and question.get("is_impossible"):
        return []
    answers = []
    for answer_place, answer in _items(question, "answers", place):
        offset = _value(answer, "answer_start", answer_place, kind=int)
        answers.append((_text(answer, "text", answer_place), offset))
    return answers


def _span(text, offsets, answer_at):
    """First and last token of an answer's text at its offset, or None."""
    answer, begin = answer_at
    end = begin + len(answer)
    return offsets.span(begin, end) if text[begin:end] == answer else None
