"""Readers of pairs, which give `{"premise": […], "hypothesis": […], "label": …}`."""

import json
import re
from pathlib import Path

from elmo_keras.tasks.readers.lines import (
    decoded_json,
    examples_of,
    label,
    malformed,
    numbered_lines,
    tab_rows,
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
    return _pairs(path, tab_rows(path, n_fields=3), split)


def read_kornli(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """KorNLI's table with `sentence1`, `sentence2` and `gold_label`."""
    return _pairs(path, table_rows(path, _SNLI_FIELDS), split)


def read_snli(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """SNLI's and MultiNLI's lines of JSON; pairs without an agreed label are left out."""
    lines = numbered_lines(path)
    records = ((number, decoded_json(path, number, line)) for number, line in lines)
    rows = _rows(path, records, _SNLI_FIELDS)
    return [pair for pair in _pairs(path, rows, split) if pair["label"] != "-"]


def read_klue(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """KLUE's JSON, a list of objects with `premise`, `hypothesis` and `gold_label`.

    An error in an object, other than in its JSON, is reported with the line where the
    object ends.
    """
    text = "\n".join(line for _, line in numbered_lines(path))
    if not isinstance(decoded_json(path, 1, text), list):
        raise malformed(path, 1, "a list of objects is expected")
    return _pairs(path, _rows(path, _objects_of_list(text), _KLUE_FIELDS), split)


def _pairs(path, rows, split):
    return examples_of(path, rows, premise=split, hypothesis=split, label=label)


def _objects_of_list(text):
    """The values of a JSON list, each with the number of the line where it ends."""
    decoder, end, number, counted = json.JSONDecoder(), text.index("[") + 1, 1, 0
    while text[start := _SEPARATOR.match(text, end).end()] != "]":
        value, end = decoder.raw_decode(text, start)
        number += text.count("\n", counted, end)
        counted = end
        yield number, value


def _rows(path, records, fields):
    """The fields of numbered JSON objects."""
    for number, record in records:
        row = [record.get(f) for f in fields] if isinstance(record, dict) else [None]
        if not all(isinstance(value, str) for value in row):
            reason = f"an object with strings {', '.join(fields)} is expected, not "
            raise malformed(path, number, reason + repr(record)[:80])
        yield number, row


READERS = {
    "tabs": read_tabs,
    "snli": read_snli,
    "kornli": read_kornli,
    "klue": read_klue,
}
