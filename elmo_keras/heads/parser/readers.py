"""Reads dependency trees: CoNLL-U, and sentences in memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.heads.parser.decoding import JOINED, TREE_COLUMNS, find_cycle
from elmo_keras.heads.reading import (
    Rows,
    blocks,
    check_any,
    conllu_columns,
    malformed,
    parse_all,
)


def read_trees(path: str | Path) -> list[dict]:
    """The sentences of CoNLL-U with their trees, by columns, see `parser.decoding`.

    Empty nodes are left out; `joined` says which words of a multiword token are not its
    first.

    Raises:
        ValueError: a line is malformed, or the heads are no tree with one root; the message
            begins with `FILE:LINE: `.
    """
    trees = (_read_tree(path, block) for block in blocks(path))
    return check_any(path, [tree for tree in trees if tree])


def _read_tree(path, block):
    line_numbers = [n for n, _ in block]
    lines = [*zip(line_numbers, parse_all(path, block, conllu_columns))]
    words = [(n, columns) for n, columns in lines if columns[0].isdecimal()]
    joined = set()
    for n, (word_id, *_) in lines:
        if "-" in word_id:
            first, last = map(int, word_id.split("-"))
            if not 0 < first <= last <= len(words):
                raise malformed(path, n, f"{word_id} should be words of the sentence")
            joined |= {*range(first + 1, last + 1)}
    numbered = [(n, (i, columns)) for i, (n, columns) in enumerate(words, 1)]
    rows = parse_all(path, numbered, lambda pair: _read_word(*pair, joined))
    columns = _columns(rows)
    if rows and (reason := _why_no_tree(columns["head"])):
        raise malformed(path, block[0][0], reason)
    return columns


def _columns(words):
    return dict(zip(TREE_COLUMNS, map(list, zip(*words))))


def _read_word(index, columns, joined):
    word_id, form, lemma, upos, xpos, feats, head, relation, *_ = columns
    if int(word_id) != index:
        raise ValueError(f"word {index} is expected, not {word_id}")
    if not form or "_" in (upos, relation) or not head.isdecimal():
        raise ValueError("a form, a part of speech, a head and a relation are expected")
    lemma = None if lemma == "_" != form else lemma
    mark = JOINED[index in joined]
    return form, lemma, upos, xpos, feats, int(head), relation, mark


def _why_no_tree(heads: Sequence[int]) -> str | None:
    """Why heads are no tree with one root; None if they are."""
    if not all(0 <= head <= len(heads) for head in heads) or heads.count(0) != 1:
        return "heads should be words of the sentence, and 0 for one of them"
    cycle = find_cycle(np.array([0, *heads]))
    if cycle is not None:
        words = " → ".join(map(str, [*cycle, cycle[0]]))
        return f"heads should lead to the root, but these form a circle: {words}"
    return None


# Names of columns in data sets, where they differ from those of the trees.
_OTHER_NAMES = {"tokens": "form", "lemma": "lemmas"}
_DEFAULTS = {"lemma": "_", "xpos": "_", "feats": "_", "joined": JOINED[0]}


def read_tree_rows(rows: Rows, source: str | Path) -> list[dict]:
    """Trees from dicts with the columns of `parser.decoding`, of which most may be missing.

    `tokens`, `upos`, `head` and `deprel` are needed.
    """

    def parse(row: Mapping):
        tokens = row.get("tokens", row.get("form"))
        n = len(tokens) if isinstance(tokens, list) else 0
        columns = []
        for name in TREE_COLUMNS:
            values = row.get(name, row.get(_OTHER_NAMES.get(name, name)))
            if name in _DEFAULTS:
                values = [x or _DEFAULTS[name] for x in values or [None] * n]
            if name == "head":
                values = [*map(str, values or ())]
            is_list = isinstance(values, list) and len(values) == n > 0
            if not is_list or not all(isinstance(x, str) for x in values):
                type_ = "number" if name == "head" else "str"
                raise ValueError(f"`{name}` should hold a {type_} for each token")
            columns.append(values)
        *columns, marks = columns
        joined = {i for i, mark in enumerate(marks, 1) if mark == JOINED[1]}
        lines = enumerate(zip(*columns), 1)
        sentence = _columns(_read_word(i, (str(i), *x), joined) for i, x in lines)
        if reason := _why_no_tree(sentence["head"]):
            raise ValueError(reason)
        return sentence

    return check_any(source, parse_all(source, rows, parse))
