"""Readers of pairs of premise and hypothesis.

Each pair gives `{"premise": […], "hypothesis": […], "label": …}`.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.tasks.readers.lines import (
    decoded_json,
    malformed,
    numbered_lines,
    split_line,
    table_rows,
)
from elmo_keras.tasks.readers.words import (
    Split,
    split_at_spaces,
    words_and_punctuation,
)

_SEPARATOR = re.compile(r"[\s,]*")  # between the objects of a list
_SNLI_FIELDS = "sentence1", "sentence2", "gold_label"
_KLUE_FIELDS = "premise", "hypothesis", "gold_label"


def read_tabs(path: str | Path, split: Split = split_at_spaces) -> list[dict]:
    """Lines of `premise \\t hypothesis \\t label`."""
    lines = numbered_lines(path)
    rows = (
        (number, split_line(path, number, line, n_fields=3)) for number, line in lines
    )
    return [_example(path, number, row, split=split) for number, row in rows]


def read_snli(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """SNLI's and MultiNLI's lines of JSON; pairs without an agreed label are left out."""
    examples = []
    for number, line in numbered_lines(path):
        record = decoded_json(path, number, line)
        row = _strings(path, number, record, fields=_SNLI_FIELDS)
        if row[-1] != "-":
            examples.append(_example(path, number, row, split=split))
    return examples


def read_kornli(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """KorNLI's table with `sentence1`, `sentence2` and `gold_label`."""
    rows = table_rows(path, _SNLI_FIELDS)
    return [_example(path, number, row, split=split) for number, row in rows]


def read_klue(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """KLUE's JSON, a list of objects with `premise`, `hypothesis` and `gold_label`.

    An error in an object, other than in its JSON, is reported with the line where the
    object ends.
    """
    text = "\n".join(line for _, line in numbered_lines(path))
    if not isinstance(decoded_json(path, 1, text), list):
        raise malformed(path, 1, "a list of objects is expected")
    examples = []
    for number, record in _objects_of_list(text):
        row = _strings(path, number, record, fields=_KLUE_FIELDS)
        examples.append(_example(path, number, row, split=split))
    return examples


def _objects_of_list(text):
    """The values of a JSON list, each with the number of the line where it ends."""
    decoder, end, number, counted = json.JSONDecoder(), text.index("[") + 1, 1, 0
    while text[start := _SEPARATOR.match(text, end).end()] != "]":
        value, end = decoder.raw_decode(text, start)
        number += text.count("\n", counted, end)
        counted = end
        yield number, value


def _example(path, number, row: Sequence[str], *, split):
    premise, hypothesis, label = row
    if not label.strip():
        raise malformed(path, number, "the label is missing")
    return {
        "premise": split(premise),
        "hypothesis": split(hypothesis),
        "label": label.strip(),
    }


def _strings(path, number, record, *, fields):
    found = [record.get(f) for f in fields] if isinstance(record, dict) else [None]
    if not all(isinstance(value, str) for value in found):
        reason = f"an object with strings {', '.join(fields)} is expected, not "
        raise malformed(path, number, reason + repr(record)[:80])
    return found
