"""Readers of labelled texts and pairs of texts, such as `{"tokens": […], "label": …}`."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from elmo_keras.tasks.readers.lines import (
    SPACES,
    malformed,
    numbered_lines,
    parse_all,
    parse_json,
    read_json,
    table_rows,
)
from elmo_keras.text.tokenizers import Tokenizer, split_spaces, split_words

_LABEL = "__label__"
# A word may hold other white space than the space, such as the no-break space.
_NODE = re.compile(r"\(([^ ()]+) [^()]+\)")
_LEAF = re.compile(r"\([^ ()]+ ([^ ()]+)\)")
# Treebanks escape the characters of their own format.
_ESCAPES = {"-LRB-": "(", "-RRB-": ")"}
_ESCAPED = re.compile(r"\\([/*])")
_SNLI_FIELDS = "sentence1", "sentence2", "gold_label"
_KLUE_FIELDS = "premise", "hypothesis", "gold_label"


def read_examples(
    path: str | Path,
    rows: Iterable[tuple[int | str, Sequence[str]]],
    **fields: Callable[[str], Any],
) -> list[dict]:
    """An example for each numbered row, with a field that a function makes of each cell."""

    def parse(row):
        cells = zip(fields.items(), row)
        return {name: parse_cell(cell) for (name, parse_cell), cell in cells}

    return parse_all(path, rows, parse)


def _strip_label(cell):
    if not cell.strip():
        raise ValueError("the label is missing")
    return cell.strip()


def read_fasttext(path: str | Path, split: Tokenizer = split_spaces) -> list[dict]:
    """Lines of `__label__LABEL text`."""

    def parse(line):
        name, _, text = line.strip(SPACES).replace("\t", " ").partition(" ")
        if not name.startswith(_LABEL) or name == _LABEL or _LABEL in text:
            raise ValueError(
                f"one {_LABEL}… and a text are expected, not {line[:60]!r}"
            )
        return {"tokens": split(text), "label": name.removeprefix(_LABEL)}

    return parse_all(path, numbered_lines(path), parse)


def read_trees(path: str | Path, split: Tokenizer = split_spaces) -> list[dict]:
    """Lines of one tree each, such as `(3 (2 A) (4 film))`: words and root label."""
    if split is not split_spaces:
        raise ValueError("--format trees has split text; leave out --split.")
    return parse_all(path, numbered_lines(path), _parse_tree)


def _parse_tree(line):
    tree = line.strip(SPACES)
    while not (root := _NODE.fullmatch(tree)):
        larger, tree = tree, _NODE.sub("node", tree)
        if tree == larger:
            raise ValueError(
                f"a tree such as (3 (2 A) (4 film)) is expected, not {line[:60]!r}"
            )
    tokens = [_ESCAPED.sub(r"\1", token) for token in _LEAF.findall(line)]
    return {
        "tokens": [_ESCAPES.get(token, token) for token in tokens],
        "label": root[1],
    }


def read_nsmc(path: str | Path, split: Tokenizer = split_words) -> list[dict]:
    """A table with the columns `document`, which may be empty, and `label`."""
    rows = table_rows(path, ("document", "label"))
    return read_examples(path, rows, tokens=split, label=_strip_label)


def read_goemotions(
    path: str | Path, names: Sequence[str], split: Tokenizer = split_words
) -> list[dict]:
    """Multi-label texts, lines of `text \\t 27,3 \\t id`, with the indices of names."""

    def parse_labels(cell):
        indices = cell.split(",")
        if not all(i.isdecimal() and int(i) < len(names) for i in indices):
            last = len(names) - 1
            raise ValueError(f"labels from 0 to {last} are expected, not {indices}")
        return [names[int(i)] for i in indices]

    rows = table_rows(path, ("text", "labels", "id"), header=False)
    return read_examples(path, rows, tokens=split, labels=parse_labels)


def read_label_names(path: str | Path) -> list[str]:
    names = []
    for number, line in numbered_lines(path):
        if not line.strip() or line.strip() in names:
            raise malformed(path, number, f"a new label is expected, not {line!r}")
        names.append(line.strip())
    return names


READERS = {"fasttext": read_fasttext, "trees": read_trees, "nsmc": read_nsmc}


def read_tabs(path: str | Path, split: Tokenizer = split_spaces) -> list[dict]:
    """Lines of `premise \\t hypothesis \\t label`."""
    rows = table_rows(path, ("premise", "hypothesis", "label"), header=False)
    return _read_pairs(path, rows, split)


def read_kornli(path: str | Path, split: Tokenizer = split_words) -> list[dict]:
    """KorNLI's table with `sentence1`, `sentence2` and `gold_label`."""
    return _read_pairs(path, table_rows(path, _SNLI_FIELDS), split)


def read_snli(path: str | Path, split: Tokenizer = split_words) -> list[dict]:
    """SNLI's and MultiNLI's lines of JSON; pairs without an agreed label are left out."""
    lines = numbered_lines(path)
    values = ((number, parse_json(path, number, line)) for number, line in lines)
    rows = _object_rows(path, values, _SNLI_FIELDS)
    pairs = _read_pairs(path, rows, split)
    labelled = [pair for pair in pairs if pair["label"] != "-"]
    if pairs and not labelled:
        raise ValueError(f"{path} should have pairs with a label other than `-`.")
    return labelled


def read_klue_nli(path: str | Path, split: Tokenizer = split_words) -> list[dict]:
    """KLUE's JSON, a list of objects with `premise`, `hypothesis` and `gold_label`.

    An error in an object, other than in its JSON, is reported with its index in the list.
    """
    values = read_json(path)
    if not isinstance(values, list):
        raise malformed(path, 1, "a list of objects is expected")
    indexed = ((f"[{i}]", value) for i, value in enumerate(values))
    rows = _object_rows(path, indexed, _KLUE_FIELDS)
    return _read_pairs(path, rows, split)


def _read_pairs(path, rows, split):
    return read_examples(
        path, rows, premise=split, hypothesis=split, label=_strip_label
    )


def _object_rows(path, values, fields):
    for number, value in values:
        row = [value.get(f) for f in fields] if isinstance(value, dict) else [None]
        if not all(isinstance(cell, str) for cell in row):
            reason = f"an object with strings {', '.join(fields)} is expected, not "
            raise malformed(path, number, reason + repr(value)[:80])
        yield number, row


PAIR_READERS = {
    "tabs": read_tabs,
    "snli": read_snli,
    "kornli": read_kornli,
    "klue": read_klue_nli,
}
