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
    column_names,
    conllu_columns,
    malformed,
    parse_all,
    read_strings,
)
from elmo_keras.heads.tagger.entities import (
    OUTSIDE,
    PREDICATE,
    TAG,
    UNTYPED,
    bio_tags,
    check_tag,
    full_tags,
    to_bio,
)

MARK = "-DOCSTART-"


def read_conllu(path: str | Path, *, entities: bool = False) -> list[dict]:
    """Words of CoNLL-U and their universal parts of speech: `{"tokens": […], "tags": […]}`.

    With `entities`, tags are the BIO tags of `name=`, `NE=` or `NER=` in MISC, or of a tag
    alone there; they may have any scheme of `read_columns`. Multiword tokens and empty
    nodes are left out.
    """
    sentences = list(blocks(path))
    misc = [x.rpartition("\t")[2] for s in sentences for _, x in s] * entities
    full = full_tags({OUTSIDE, *map(_misc_tag, misc)})

    def parse(line):
        columns = conllu_columns(line)
        if not columns[0].isdecimal():
            return None
        tag = columns[3]
        if entities:
            tag = _misc_tag(columns[9])
            tag = full.get(tag, tag)
            check_tag(tag)
        if not columns[1] or tag in ("", "_"):
            raise ValueError("the word or its part of speech is missing")
        return columns[1], tag

    examples = _read_sentences(path, sentences, parse, as_bio=entities)
    if entities and not any({*example["tags"]} - {OUTSIDE} for example in examples):
        raise ValueError(
            f"{path} has no entities: they are expected in the last column, such as "
            "`name=B-PER`."
        )
    return examples


def _misc_tag(misc):
    for field in misc.split("|"):
        key, _, value = field.partition("=")
        if key in ("NER", "NE", "name"):
            return value
        if TAG.fullmatch(field):
            return field
    return OUTSIDE


def _read_sentences(path, sentences, parse, *, as_bio):
    """An example for each block of lines from which `parse` gets words and tags."""
    examples = []
    for block in sentences:
        if rows := parse_all(path, block, parse):
            tokens, tags = map(list, zip(*rows))
            tags = to_bio(tags) if as_bio else tags
            examples.append({"tokens": tokens, "tags": tags})
    return check_any(path, examples)


def read_columns(
    path: str | Path, columns: tuple[int, int] | None = None
) -> list[dict]:
    """Words and entities: `{"tokens": […], "tags": […]}` with BIO tags.

    Tags have any scheme of `to_bio`, or are types alone, or prefixes alone, whose entities
    have the type `ENTITY`, or end in `_B` and `_I`. Columns are separated by tabs, or else
    by spaces, and all lines have the same number of them. `columns` are the positions of
    word and tag, from 1. By default these are the first and the last one; or `FORM` and
    `NE`, `NER` or the last one of CoNLL-U Plus; or, after columns whose cells all hold
    digits, such as ids, the next one, and the one after it or the last one, whichever has
    tags. Lines without a word,
    `-DOCSTART-` and comments are left out. Of CoNLL-U, the entities in MISC are read, see
    `read_conllu`; of WebAnno's TSV 3, the named entities, or else the first layer.
    """
    sentences = list(blocks(path))
    if sentences and sentences[0][0][1].startswith("#FORMAT=WebAnno TSV 3"):
        return _read_webanno(path, sentences)
    tokens = [_columns(x) for s in sentences for _, x in s if x[0] != "#"]
    rows = [row for row in tokens if MARK not in row[:2]]
    names = column_names(sentences)
    if columns is not None:
        word, tag = (column - 1 for column in columns)
    elif rows and all(len(row) == 10 and CONLLU_ID.fullmatch(row[0]) for row in rows):
        return read_conllu(path, entities=True)
    else:
        word, tag = _find_columns(rows, names)
    # After ids, a word and its tag, some lines may have more columns.
    n_read = tag + 1 if 0 < word == tag - 1 and not (names or columns) else None
    rows = [row[:n_read] for row in rows]
    lengths = collections.Counter(map(len, rows))
    ((usual, _),) = lengths.most_common(1) or [(0, 0)]
    n_columns = max(usual, word + 1, tag + 1, 2)
    tags = {row[tag] for row in rows if len(row) == n_columns}
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
        if names and not row[0].isdecimal():  # a multiword token or an empty node
            return None
        name = full.get(row[tag], row[tag])
        try:
            check_tag(name)
        except ValueError as error:
            raise ValueError(f"{error}. `--columns` names word and tag") from None
        return (row[word], name) if row[word] else None

    return _read_sentences(path, sentences, parse, as_bio=True)


def _find_columns(rows, names):
    """The columns of word and tag: 0 is the first, −1 the last."""
    if "FORM" in names:
        tags = [i for i, name in enumerate(names) if name.rpartition(":")[2] in _NAMES]
        return names.index("FORM"), tags[0] if tags else -1
    n_columns = min(map(len, rows), default=0)
    word = next((i for i in range(n_columns - 1) if not _are_ids(rows, i)), 0)
    if not word:
        return 0, -1
    by_column = {i: [row[i] for row in rows] for i in (word + 1, -1)}
    are_tags = (
        i
        for i, cells in by_column.items()
        if full_tags(cells) or 2 * sum(map(bool, map(TAG.fullmatch, cells))) > len(rows)
    )
    return word, next(are_tags, -1)


def _are_ids(rows, i):
    return all(any(map(str.isdecimal, row[i])) for row in rows)


_NAMES = "NE", "NER", "NAME"  # columns with entities
_WEBANNO = re.compile(r"^(.*?)(?:\[(\d+)\])?(?:\|.*)?$")


def _read_webanno(path, sentences):
    lines = [line for block in sentences for _, line in block]
    layers = [x.split("|") for x in lines if x.startswith("#T_SP=")]
    column, value_column = 3, 3
    for i, (name, *features) in enumerate(layers):
        if "NamedEntity" in name or not i:
            has_value = "value" in features
            value_column = column + (features.index("value") if has_value else 0)
        column += max(1, len(features))
    last_id = None  # the id of the span at the token before

    def parse(line):
        nonlocal last_id
        columns = line.split("\t")
        if line[0] == "#" or "." in columns[0]:  # a part of a token
            return None
        if len(columns) <= value_column:
            raise ValueError(
                f"{value_column + 1} columns separated by tabs are expected"
            )
        label, span_id = _WEBANNO.findall(columns[value_column])[0]
        label, is_inside = label.replace("\\", ""), bool(span_id) and span_id == last_id
        last_id = span_id
        if label in ("_", ""):
            return columns[2], OUTSIDE
        tag = f"{'I' if is_inside else 'B'}-{label.replace('*', UNTYPED)}"
        check_tag(tag)
        return columns[2], tag

    return _read_sentences(path, sentences, parse, as_bio=True)


def _columns(line: str) -> list[str]:
    if "\t" in line:
        return [column.strip(SPACES) for column in line.rstrip(SPACES).split("\t")]
    return [column for column in line.split(" ") if column]


_BRACKET = re.compile(r"(\((?P<role>[^\s,()|*]+))?\*(?P<end>\))?")


def read_roles(path: str | Path) -> list[dict]:
    """Semantic roles: `tokens`, `tags` and `predicate` for each predicate of a sentence.

    The columns are the word, the predicate (its lemma, or `-`), and BIO tags or brackets
    for each predicate of the sentence in turn, as in CoNLL-2005; or all columns of
    CoNLL-2012; of CoNLL-2009, where arguments are single words, their heads; or of Universal
    PropBank, merged with its treebank. `predicate` is 1 at the predicate of the example, else 0.
    """
    examples, sentences = [], list(blocks(path))
    names = column_names(sentences)
    for block in sentences:
        if "UP:ARGSPANS" in names:
            examples += _read_propbank(path, block, names)
            continue
        lines = [(n, x) for n, x in block if not x.startswith(("#begin ", "#end "))]
        rows = parse_all(path, lines, _role_columns)
        predicates = [i for i, columns in enumerate(rows) if columns[1] != "-"]
        expected = 2 + len(predicates)
        for (line_number, _), row in zip(lines, rows):
            if len(row) != expected:
                reason = (
                    f"{expected} columns are expected: word, predicate, and one for "
                    f"each of {len(predicates)} predicates, not {len(row)}"
                )
                raise malformed(path, line_number, reason)
        for column, predicate in enumerate(predicates, 2):
            cells = [(n, row[column]) for (n, _), row in zip(lines, rows)]
            tags = _role_tags(path, cells)
            examples.append(_frame([row[0] for row in rows], predicate, tags))
    return check_any(path, examples)


def _frame(tokens, predicate, tags):
    """An example; the predicate is tagged where the format doesn't."""
    if tags[predicate] == OUTSIDE:
        tags[predicate] = f"B-{PREDICATE}"
    marks = [int(i == predicate) for i in range(len(tokens))]
    return {"tokens": tokens, "predicate": marks, "tags": tags}


def _read_propbank(path, block, names):
    """The predicates of a sentence with their arguments, such as `A0:1-3|A1:5`."""
    cells = [(n, dict(zip(names, x.split("\t")))) for n, x in block if x[0] != "#"]
    words = [(n, row) for n, row in cells if row["ID"].isdecimal()]
    tokens = [row["FORM"] for _, row in words]

    def parse(row):
        if row["UP:PRED"] == "_":
            return None
        spans = []
        for argument in row["UP:ARGSPANS"].split("|"):
            if argument == "_":
                continue
            label, _, bounds = argument.rpartition(":")
            first, _, last = bounds.partition("-")
            spans.append((int(first) - 1, int(last or first), label))
            if not (label and 0 < int(first) <= spans[-1][1] <= len(tokens)):
                raise ValueError(f"A0:FIRST-LAST is expected, not {argument!r}")
        return _frame(tokens, int(row["ID"]) - 1, bio_tags(spans, len(tokens)))

    return parse_all(path, words, parse)


def _role_columns(line):
    """The word, its predicate and the roles, also from CoNLL-2009 and CoNLL-2012."""
    columns = _columns(line)
    if len(columns) > 13 and columns[0].isdecimal() and columns[8].isdecimal():
        word, predicate, *roles = columns[1], columns[13], *columns[14:]  # CoNLL-2009
        roles = ["*" if role == "_" else f"({role}*)" for role in roles]
        columns = [word, "-" if predicate == "_" else predicate, *roles]
    elif len(columns) > 11 and columns[2].isdecimal():
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
            check_tag(cell)
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
        return _frame(tokens, position, tags)

    return check_any(source, parse_all(source, rows, parse))
