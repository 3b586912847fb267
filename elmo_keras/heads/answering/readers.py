"""Reads questions with answers in a text, as SQuAD has them."""

import collections
from collections.abc import Mapping, Sequence
from pathlib import Path

from elmo_keras.heads.answering.decoding import OffsetTokens, offset_tokens
from elmo_keras.heads.reading import Rows, check_any, malformed, read_rows


def read_squad(path: str | Path) -> list[dict]:
    """The questions of a file of SQuAD 1.1, 2.0 or KorQuAD 2, or of lines as Hugging Face's.

    Each of these is a JSON object: a `context` and `question` with its `answers`, an object
    of the lists `text` and `answer_start`. Errors name the file, the line and the question.

    Each has `id`; the tokens of `context` and `question`; `text`, the paragraph; `offsets`,
    its tokens with their offsets; `answers`; of the first answer that is at its offset, the
    `span`, its first and last token, and the `ending`, the characters of its last token
    after it, or None; `n_misplaced`, the number of answers that are not.
    """
    return read_questions(read_rows(path), path)


def read_questions(rows: Rows, source: str | Path) -> list[dict]:
    """The same as `read_squad`, from the rows of such a file."""
    examples, key = [], ""
    for line_number, row in rows:
        try:
            for key, paragraph in _paragraphs(row):
                text = paragraph["context"]
                offsets = _tokens(text)
                where = key
                for k, question in enumerate(paragraph.get("qas", [paragraph])):
                    key = f"{where}qas[{k}] " if "qas" in paragraph else where
                    examples.append(_question(text, offsets, question))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            is_key = isinstance(error, KeyError)
            reason = f"{error} is missing" if is_key else repr(error)
            reason = f"{key}not as in SQuAD: {reason}"
            raise malformed(source, line_number, reason) from None
    return check_any(source, examples)


def _paragraphs(row):
    """Each paragraph, or question with its context, and its place in a row."""
    for i, article in enumerate(row.get("data", [row])):
        where = f"data[{i}]." * ("data" in row)
        if "paragraphs" not in article:
            yield where, article
            continue
        for j, paragraph in enumerate(article["paragraphs"]):
            yield f"{where}paragraphs[{j}].", paragraph


def _question(text, offsets: OffsetTokens, question):
    span = ending = None
    n_misplaced, answers = 0, []
    for begin, answer in _answers(question):
        begin += len(answer) - len(answer.lstrip())
        _tokens(answer)
        answers.append(answer.strip())
        end = begin + len(answers[-1])
        if begin < 0 or text[begin:end] != answers[-1]:
            n_misplaced += 1
        elif span is None and (span := offsets.span(begin, end)):
            ending = text[end : offsets.ends[span[1]]]
    return {
        "id": str(question.get("id", "")),
        "context": offsets.tokens,
        "question": _tokens(question["question"]).tokens,
        "text": text,
        "offsets": offsets,
        "answers": answers,
        "span": span,
        "ending": ending,
        "n_misplaced": n_misplaced,
    }


def _tokens(text) -> OffsetTokens:
    tokens = offset_tokens(text)
    if not tokens.tokens:
        raise ValueError(f"text is expected. Received: {text!r}")
    return tokens


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
