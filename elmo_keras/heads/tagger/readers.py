"""Reads tagged sentences: parts of speech, entities and semantic roles."""

import collections
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from elmo_keras.base.argument_checks import shortened
from elmo_keras.heads.reading import (
    CONLLU_ID,
    SPACES,
    Rows,
    blocks,
    check_any,
    conllu_columns,
    malformed,
    parse_all,
    read_strings,
)
from elmo_keras.heads.tagger.entities import OUTSIDE, PREDICATE, TAG, full_tags, to_bio

MARK = "-DOCSTART-"


def read_conllu(path: str | Path, *, entities: bool = False) -> list[dict]:
    """Words of CoNLL-U and their universal parts of speech: `{"tokens": […], "tags": […]}`.

    With `entities`, tags are the BIO tags of `name=`, `NE=` or `NER=` in MISC, or of a tag
    alone there. Multiword tokens and empty nodes are left out.
    """

    def parse(line):
        columns = conllu_columns(line)
        if not columns[0].isdecimal():
            return None
        in_misc = filter(None, map(_IN_MISC.fullmatch, columns[9].split("|")))
        tag = next((m["tag"] for m in in_misc), OUTSIDE) if entities else columns[3]
        if not columns[1] or tag in ("", "_"):
            raise ValueError("the word or its part of speech is missing")
        return columns[1], tag

    examples = _read_sentences(path, blocks(path), parse, as_bio=entities)
    if entities and not any({*example["tags"]} - {OUTSIDE} for example in examples):
        raise ValueError(
            f"{path} has no entities: they are expected in the last column, such as "
            "`name=B-PER`."
        )
    return examples


_IN_MISC = re.compile(rf"((NER|NE|name)=)?(?P<tag>{TAG.pattern})")


def _read_sentences(path, sentences, parse, *, as_bio):
    """An example for each block of lines from which `parse` gets words and tags."""
    examples = []
    for block in sentences:
        if rows := parse_all(path, block, parse):
            tokens, tags = map(list, zip(*rows))
            examples.append(
                {"tokens": tokens, "tags": to_bio(tags) if as_bio else tags}
            )
    return check_any(path, examples)


def read_columns(
    path: str | Path, columns: tuple[int, int] | None = None
) -> list[dict]:
    """Words and entities: `{"tokens": […], "tags": […]}` with BIO tags.

    Tags have any scheme of `to_bio`, or are types alone, or prefixes alone, whose entities
    have the type `ENTITY`. Columns are separated by tabs, or else by spaces. If the first one
    counts the words of each sentence, as in GermEval and Universal NER, the word is the
    second and its tag the third; otherwise these are the first and the last one, and all
    lines have the same number of columns. `columns` are the positions of word and tag, from
    1. Lines without a word, `-DOCSTART-` and comments are left out. Of CoNLL-U, the
    entities in MISC are read, see `read_conllu`.
    """
    sentences = list(blocks(path))
    tokens = [[_columns(x) for _, x in s if x[0] != "#"] for s in sentences]
    rows = [row for rows in tokens for row in rows]
    word, tag, n_read = 0, -1, None
    if columns is not None:
        word, tag = (column - 1 for column in columns)
    elif rows and all(len(row) == 10 and CONLLU_ID.fullmatch(row[0]) for row in rows):
        return read_conllu(path, entities=True)
    elif rows and _are_counted(tokens):
        word, tag, n_read = 1, 2, 3
        rows = [row[:n_read] for row in rows]
    lengths = collections.Counter(len(row) for row in rows if MARK not in row[:2])
    ((usual, _),) = lengths.most_common(1) or [(0, 0)]
    n_columns = max(usual, word + 1, tag + 1, 2)
    tags = {row[tag] for row in rows if len(row) == n_columns and MARK not in row[:2]}
    full = full_tags(tags)

    def parse(line):
        row = _columns(line)[:n_read]
        is_token = len(row) == n_columns
        is_tag = is_token and (row[tag] in tags or TAG.fullmatch(row[tag]))
        if MARK in row[:2] or line[0] == "#" and not is_tag:
            return None
        if not is_token:
            raise ValueError(
                f"{n_columns} columns are expected, among them a word and its tag, as "
                f"in most lines, not {len(row)}"
            )
        name = full.get(row[tag], row[tag])
        to_bio([name])  # checks it
        return (row[word], name) if row[word] else None

    return _read_sentences(path, sentences, parse, as_bio=True)


def _are_counted(sentences):
    """Whether the first columns are 1, 2, … in each sentence, before a word and its tag."""
    return all(
        row[0] == str(i) and len(row) > 2
        for rows in sentences
        for i, row in enumerate(rows, 1)
    )


def _columns(line: str) -> list[str]:
    if "\t" in line:
        return [column.strip(SPACES) for column in line.rstrip(SPACES).split("\t")]
    return [column for column in line.split(" ") if column]


_BRACKET = re.compile(r"(\((?P<role>[^\s,()|*]+))?\*(?P<end>\))?")


def read_roles(path: str | Path) -> list[dict]:
    """Semantic roles: `tokens`, `tags` and `predicate` for each predicate of a sentence.

    The columns are the word, the predicate (its lemma, or `-`), and BIO tags or brackets
    for each predicate of the sentence in turn, as in CoNLL-2005; or all columns of
    CoNLL-2012. `predicate` is 1 at the predicate of the example, else 0.
    """
    examples = []
    for block in blocks(path):
        lines = [(n, x) for n, x in block if not x.startswith(("#begin ", "#end "))]
        rows = parse_all(path, lines, _role_columns)
        predicates = [i for i, columns in enumerate(rows) if columns[1] != "-"]
        expected = 2 + len(predicates)
        for (number, _), row in zip(lines, rows):
            if len(row) != expected:
                reason = (
                    f"{expected} columns are expected: word, predicate, and one for "
                    f"each of {len(predicates)} predicates, not {len(row)}"
                )
                raise malformed(path, number, reason)
        for column, predicate in enumerate(predicates, 2):
            cells = [(number, row[column]) for (number, _), row in zip(lines, rows)]
            example = {
                "tokens": [row[0] for row in rows],
                "predicate": [int(i == predicate) for i in range(len(rows))],
                "tags": _role_tags(path, cells),
            }
            examples.append(example)
    return check_any(path, examples)


def _role_columns(line):
    """The word, its predicate and the roles; of CoNLL-2012's columns, these alone."""
    columns = _columns(line)
    if len(columns) > 11 and columns[2].isdecimal():
        columns = [columns[3], columns[7], *columns[11:-1]]
    if len(columns) < 2 or not all(columns):
        raise ValueError("a word, its predicate or `-`, and roles are expected")
    return columns


def _role_tags(path, cells):
    """The tags of a column of roles: BIO, or brackets such as `(A0*`, `*` and `*)`."""
    role = ""

    def parse(cell):
        nonlocal role
        bracket = _BRACKET.fullmatch(cell)
        if bracket is None or bracket["role"] and role:
            to_bio([cell])  # checks it
            return cell
        prefix, role = ("B", bracket["role"]) if bracket["role"] else ("I", role)
        tag = f"{prefix}-{role}" if role else OUTSIDE
        if bracket["end"]:
            if not role:
                raise ValueError(f"{cell!r} ends a role that did not begin")
            role = ""
        return tag

    tags = parse_all(path, cells, parse)
    if role:
        reason = f"({role}* does not end within its sentence"
        raise malformed(path, cells[-1][0], reason)
    return to_bio(tags)


def read_predicates(path: str | Path) -> list[dict]:
    """The predicates of sentences with semantic roles, tagged `B-V`."""
    return predicates_of_roles(read_roles(path))


def predicates_of_roles(examples: Iterable[Mapping]) -> list[dict]:
    """The sentences of examples with semantic roles, with their predicates tagged."""
    sentences: list[dict] = []
    for example in examples:
        tokens = example["tokens"]
        if not sentences or sentences[-1]["tokens"] != tokens:
            sentences.append({"tokens": tokens, "tags": [OUTSIDE] * len(tokens)})
        sentences[-1]["tags"][example["predicate"].index(1)] = f"B-{PREDICATE}"
    return sentences


_TAGS = "tags", "upos", "pos_tags"  # names of the field with tags


def read_tag_rows(rows: Rows, source: str | Path) -> list[dict]:
    """Tagged sentences from dicts with `tokens` and `tags`, `upos` or `pos_tags`."""

    def parse(row):
        name = next((name for name in _TAGS if name in row), _TAGS[0])
        tokens, tags = read_strings(row, "tokens"), read_strings(row, name, "tokens")
        return {"tokens": tokens, "tags": tags} if tokens else None

    return check_any(source, parse_all(source, rows, parse))


def read_role_rows(rows: Rows, source: str | Path) -> list[dict]:
    """Semantic roles from dicts with `tokens`, BIO `tags` and `predicate`, its position."""

    def parse(row):
        tokens, position = read_strings(row, "tokens"), row.get("predicate")
        tags = to_bio(read_strings(row, "tags", "tokens"))
        if isinstance(position, list) and position.count(1) == 1:
            position = position.index(1)
        if type(position) is not int or not 0 <= position < len(tokens):
            raise ValueError(
                f"`predicate` should be the position of a token, "
                f"not {shortened(position):.80}"
            )
        marks = [int(i == position) for i in range(len(tokens))]
        return {"tokens": tokens, "predicate": marks, "tags": tags}

    return check_any(source, parse_all(source, rows, parse))
