"""Readers of pairs of sentences, for entailment and similarity.

Those for entailment give `{"premise": […], "hypothesis": […], "label": …}` a pair.
"""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.tasks.readers.lines import malformed, numbered_lines
from elmo_keras.tasks.readers.tables import split_line, table_rows
from elmo_keras.tasks.readers.words import Split, words_and_punctuation

HIGHEST_SCORE = 5.0
_BETWEEN = re.compile(r"[\s,]*")  # the objects of a list
_SNLI_FIELDS = "sentence1", "sentence2", "gold_label"
_KLUE_FIELDS = "premise", "hypothesis", "gold_label"


def read_tabs(path: str | Path, split: Split = str.split) -> list[dict]:
    """Lines of `premise \\t hypothesis \\t label`.

    Args:
        path: the file.
        split: text → tokens.

    Raises:
        OSError: the file can't be read.
        ValueError: `file:line:` and what is wrong there.
    """
    lines = numbered_lines(path)
    rows = ((number, split_line(path, number, line, 3)) for number, line in lines)
    return [_entailment(path, number, row, split) for number, row in rows]


def read_snli(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """SNLI's and MultiNLI's lines of JSON.

    Pairs on which the annotators don't agree, of label `"-"`, are left out.

    Args and raises: as `read_tabs`.
    """
    examples = []
    for number, line in numbered_lines(path):
        record = _decoded(path, number, line)
        row = _strings(path, number, record, _SNLI_FIELDS)
        if row[-1] != "-":
            examples.append(_entailment(path, number, row, split))
    return examples


def read_kornli(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """KorNLI's table with `sentence1`, `sentence2` and `gold_label`.

    Args and raises: as `read_tabs`.
    """
    rows = table_rows(path, _SNLI_FIELDS)
    return [_entailment(path, number, row, split) for number, row in rows]


def read_klue(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """KLUE's JSON, a list of objects with `premise`, `hypothesis` and `gold_label`.

    Args and raises: as `read_tabs`. A fault that is not one of JSON has the line where
    its object ends.
    """
    text = "\n".join(line for _, line in numbered_lines(path))
    if not isinstance(_decoded(path, 1, text), list):
        raise malformed(path, 1, "a list of objects is expected")
    examples = []
    for number, record in _objects_of_list(text):
        row = _strings(path, number, record, _KLUE_FIELDS)
        examples.append(_entailment(path, number, row, split))
    return examples


def _objects_of_list(text):
    """The values of a JSON list, each with the number of the line where it ends."""
    decoder, end, number, counted = json.JSONDecoder(), text.index("[") + 1, 1, 0
    while text[start := _BETWEEN.match(text, end).end()] != "]":
        value, end = decoder.raw_decode(text, start)
        number += text.count("\n", counted, end)
        counted = end
        yield number, value


def read_korsts(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """KorSTS' table with `sentence1`, `sentence2` and `score`, which is from 0 to 5.

    Args:
        path: the file.
        split: text → tokens.

    Returns:
        Examples `{"first": […], "second": […], "score": 3.8}`.

    Raises:
        OSError: the file can't be read.
        ValueError: `file:line:` and what is wrong there.
    """
    rows = table_rows(path, ("sentence1", "sentence2", "score"))
    return [
        {
            "first": split(first),
            "second": split(second),
            "score": _score(path, number, score),
        }
        for number, (first, second, score) in rows
    ]


def _score(path, number, text):
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not 0 <= score <= HIGHEST_SCORE:
        reason = f"a score from 0 to {HIGHEST_SCORE:g} is expected, not {text!r}"
        raise malformed(path, number, reason)
    return score


def _entailment(path, number, row: Sequence[str], split):
    premise, hypothesis, label = row
    if not label.strip():
        raise malformed(path, number, "the label is missing")
    return {
        "premise": split(premise),
        "hypothesis": split(hypothesis),
        "label": label.strip(),
    }


def _decoded(path, number, text):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        number += error.lineno - 1
        raise malformed(path, number, f"JSON is expected. {error}") from error


def _strings(path, number, record, names):
    """The fields of a decoded JSON object that have these names."""
    found = [record.get(name) for name in names] if isinstance(record, dict) else [None]
    if not all(isinstance(value, str) for value in found):
        reason = f"an object with strings {', '.join(names)} is expected, not "
        raise malformed(path, number, reason + repr(record)[:80])
    return found
