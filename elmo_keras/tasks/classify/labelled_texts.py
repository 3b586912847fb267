"""Readers of labelled texts. Each text gives `{"tokens": […], "label": …}`."""

import re
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.tasks.readers.lines import (
    SPACES,
    examples_of,
    label,
    malformed,
    numbered_lines,
    parsed,
    tab_rows,
    table_rows,
)
from elmo_keras.tasks.readers.words import (
    Split,
    split_at_spaces,
    words_and_punctuation,
)

_LABEL = "__label__"
# A word may hold other white space than the space, such as the no-break space.
_NODE = re.compile(r"\(([^ ()]+) [^()]+\)")
_LEAF = re.compile(r"\([^ ()]+ ([^ ()]+)\)")
# Treebanks escape the characters of their own format.
_ESCAPES = {"-LRB-": "(", "-RRB-": ")"}
_ESCAPED = re.compile(r"\\([/*])")


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
