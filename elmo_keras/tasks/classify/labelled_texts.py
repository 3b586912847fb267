"""Readers of labelled texts. Each text gives `{"tokens": […], "label": …}`."""

import re
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.tasks.readers.lines import (
    SPACES,
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

_LABEL = "__label__"
# A word may hold other white space than the space, such as the no-break space.
_NODE = re.compile(r"\(([^ ()]+) [^()]+\)")
_LEAF = re.compile(r"\([^ ()]+ ([^ ()]+)\)")
# Treebanks escape the characters of their own format.
_ESCAPES = {"-LRB-": "(", "-RRB-": ")"}
_ESCAPED = re.compile(r"\\([/*])")


def read_fasttext(path: str | Path, split: Split = split_at_spaces) -> list[dict]:
    """Lines of `__label__LABEL text`."""
    examples = []
    for number, line in numbered_lines(path):
        label, _, text = line.strip(SPACES).replace("\t", " ").partition(" ")
        if not label.startswith(_LABEL) or label == _LABEL or _LABEL in text:
            reason = f"one {_LABEL}… and a text are expected, not {line[:60]!r}"
            raise malformed(path, number, reason)
        label = label.removeprefix(_LABEL)
        examples.append({"tokens": split(text), "label": label})
    return examples


def read_trees(path: str | Path) -> list[dict]:
    """Lines of one tree each, such as `(3 (2 A) (4 film))`: words and root label."""
    examples = []
    for number, line in numbered_lines(path):
        label = _root_label(line.strip(SPACES))
        if label is None:
            reason = f"a tree such as (3 (2 A) (4 film)) is expected, not {line[:60]!r}"
            raise malformed(path, number, reason)
        tokens = [_ESCAPED.sub(r"\1", token) for token in _LEAF.findall(line)]
        tokens = [_ESCAPES.get(token, token) for token in tokens]
        examples.append({"tokens": tokens, "label": label})
    return examples


def _root_label(tree):
    """The label of a tree's root, or None if the line is not a tree."""
    while not (root := _NODE.fullmatch(tree)):
        smaller = _NODE.sub("node", tree)
        if smaller == tree:
            return None
        tree = smaller
    return root[1]


def read_table(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """A table with the columns `document`, which may be empty, and `label`."""
    examples = []
    for number, (document, label) in table_rows(path, ("document", "label")):
        if not label.strip():
            raise malformed(path, number, "the label is missing")
        examples.append({"tokens": split(document), "label": label.strip()})
    return examples


def read_goemotions(
    path: str | Path, names: Sequence[str], split: Split = words_and_punctuation
) -> list[dict]:
    """Multi-label texts, lines of `text \\t 27,3 \\t id`; the numbers are those of names."""
    examples = []
    for number, line in numbered_lines(path):
        text, labels, _ = split_line(path, number, line, n_fields=3)
        labels = labels.split(",")
        if not all(x.isdecimal() and int(x) < len(names) for x in labels):
            reason = f"labels from 0 to {len(names) - 1} are expected, not {labels}"
            raise malformed(path, number, reason)
        labels = [names[int(label)] for label in labels]
        examples.append({"tokens": split(text), "labels": labels})
    return examples


def read_label_names(path: str | Path) -> list[str]:
    names = []
    for number, line in numbered_lines(path):
        if not line.strip() or line.strip() in names:
            raise malformed(path, number, f"a new label is expected, not {line!r}")
        names.append(line.strip())
    return names
