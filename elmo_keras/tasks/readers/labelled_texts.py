"""Readers of labelled texts and pairs of texts, such as `{"tokens": […], "label": …}`."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from elmo_keras.tasks.readers.lines import (
    SPACES,
    decoded_json,
    malformed,
    numbered_lines,
    parsed,
    tab_rows,
    table_rows,
)
from elmo_keras.tasks.readers.words import Split, split_at_spaces, words_and_punctuation

_LABEL = "__label__"
# A word may hold other white space than the space, such as the no-break space.
_NODE = re.compile(r"\(([^ ()]+) [^()]+\)")
_LEAF = re.compile(r"\([^ ()]+ ([^ ()]+)\)")
# Treebanks escape the characters of their own format.
_ESCAPES = {"-LRB-": "(", "-RRB-": ")"}
_ESCAPED = re.compile(r"\\([/*])")
_SEPARATOR = re.compile(r"[\s,]*")  # between the objects of a list
_SNLI_FIELDS = "sentence1", "sentence2", "gold_label"
_KLUE_FIELDS = "premise", "hypothesis", "gold_label"


def examples_of(
    path: str | Path,
    rows: Iterable[tuple[int, Sequence[str]]],
    **columns: Callable[[str], Any],
) -> list[dict]:
    """An example for each numbered row, with a field made of each of its first cells."""

    def example(row):
        cells = zip(columns.items(), row)
        return {name: made_of(cell) for (name, made_of), cell in cells}

    return parsed(path, rows, example)


def label(cell: str) -> str:
    if not cell.strip():
        raise ValueError("the label is missing")
    return cell.strip()


def read_fasttext(path: str | Path, split: Split = split_at_spaces) -> list[dict]:
    """Lines of `__label__LABEL text`."""

    def example(line):
        name, _, text = line.strip(SPACES).replace("\t", " ").partition(" ")
        if not name.startswith(_LABEL) or name == _LABEL or _LABEL in text:
            raise ValueError(
                f"one {_LABEL}… and a text are expected, not {line[:60]!r}"
            )
        return {"tokens": split(text), "label": name.removeprefix(_LABEL)}

    return parsed(path, numbered_lines(path), example)


def read_trees(path: str | Path) -> list[dict]:
    """Lines of one tree each, such as `(3 (2 A) (4 film))`: words and root label."""

    def example(line):
        tree = line.strip(SPACES)
        while not (root := _NODE.fullmatch(tree)):
            larger, tree = tree, _NODE.sub("node", tree)
            if tree == larger:
                raise ValueError(
                    f"a tree such as (3 (2 A) (4 film)) is expected, not {line[:60]!r}"
                )
        tokens = [_ESCAPED.sub(r"\1", token) for token in _LEAF.findall(line)]
        tokens = [_ESCAPES.get(token, token) for token in tokens]
        return {"tokens": tokens, "label": root[1]}

    return parsed(path, numbered_lines(path), example)


def read_table(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """A table with the columns `document`, which may be empty, and `label`."""
    rows = table_rows(path, ("document", "label"))
    return examples_of(path, rows, tokens=split, label=label)


def read_goemotions(
    path: str | Path, names: Sequence[str], split: Split = words_and_punctuation
) -> list[dict]:
    """Multi-label texts, lines of `text \\t 27,3 \\t id`; the numbers are those of names."""

    def labels(cell):
        numbers = cell.split(",")
        if not all(x.isdecimal() and int(x) < len(names) for x in numbers):
            last = len(names) - 1
            raise ValueError(f"labels from 0 to {last} are expected, not {numbers}")
        return [names[int(x)] for x in numbers]

    rows = tab_rows(path, n_fields=3)
    return examples_of(path, rows, tokens=split, labels=labels)


def read_label_names(path: str | Path) -> list[str]:
    names = []
    for number, line in numbered_lines(path):
        if not line.strip() or line.strip() in names:
            raise malformed(path, number, f"a new label is expected, not {line!r}")
        names.append(line.strip())
    return names


READERS = {
    "fasttext": read_fasttext,
    "trees": read_trees,
    "nsmc": read_table,
    "goemotions": read_goemotions,
}


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


def read_klue_nli(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
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
    for number, record in records:
        row = [record.get(f) for f in fields] if isinstance(record, dict) else [None]
        if not all(isinstance(value, str) for value in row):
            reason = f"an object with strings {', '.join(fields)} is expected, not "
            raise malformed(path, number, reason + repr(record)[:80])
        yield number, row


PAIR_READERS = {
    "tabs": read_tabs,
    "snli": read_snli,
    "kornli": read_kornli,
    "klue": read_klue_nli,
}
