"""Readers of tagged text. Each sentence gives `{"tokens": […], "tags": […]}`."""

import functools
import re
import unicodedata
from pathlib import Path

from elmo_keras.tasks.entities import (
    OUTSIDE,
    PREDICATE,
    TAG,
    has_bare_types,
    to_bio,
)
from elmo_keras.tasks.readers.lines import SPACES, blocks, malformed, parse_all

DOCSTART = "-DOCSTART-"
DOCUMENT_LINES = "#begin document", "#end document"
_BRACKET = re.compile(r"(\((?P<role>[^\s,()|*]+))?\*(?P<end>\))?")


def read_conllu(path: str | Path) -> list[dict]:
    """Words and universal parts of speech, without multiword tokens and empty nodes."""
    return [_example(words) for words in _sentences(path, _conllu_word)]


def _sentences(path, parse):
    """What `parse` makes of the lines of each block; blocks of which nothing is left go."""
    sentences = (parse_all(path, block, parse) for block in blocks(path))
    return _check_any([lines for lines in sentences if lines], path)


def _check_any(sentences, path):
    if not sentences:
        raise ValueError(f"{path} holds no sentence.")
    return sentences


def _example(words):
    tokens, tags = map(list, zip(*words))
    return {"tokens": tokens, "tags": tags}


def _conllu_word(line):
    """Word and tag, or None for a line without a word."""
    if line[0] == "#":
        return None
    columns = line.split("\t")
    if len(columns) != 10:
        raise ValueError(
            f"10 columns separated by tabs are expected, not {len(columns)}"
        )
    if not columns[0].replace("-", "").replace(".", "").isdecimal():
        raise ValueError(f"the first column should be a number, not {columns[0]!r}")
    if not columns[0].isdecimal():
        return None
    if not columns[1] or columns[3] in ("", "_"):
        raise ValueError("the word or its part of speech is missing")
    return columns[1], columns[3]


def read_conll(path: str | Path, columns: tuple[int, int] | None = None) -> list[dict]:
    """Words and entities in columns, in any scheme of `to_bio` or as types alone.

    Columns are separated by tabs, or else by spaces. If the first one counts the words of
    each sentence, as in GermEval and Universal NER, the word is the second and its tag the
    third; otherwise these are the first and the last one. `columns` are the positions of
    word and tag, from 1. Lines without a word, `-DOCSTART-` and comments are left out.
    """
    sentences = list(blocks(path))
    tokens = [[_columns(x) for _, x in s if x[0] != "#"] for s in sentences]
    word, tag = 0, -1
    if columns is not None:
        word, tag = (column - 1 for column in columns)
    elif _are_counted(tokens):
        word, tag = 1, 2
    n_needed = max(word, tag) + 1 if tag >= 0 else 2
    tags = {row[tag] for rows in tokens for row in rows if len(row) >= n_needed}
    sizes = {len(row) for rows in tokens for row in rows}
    prefix = "I-" if has_bare_types(tags) else ""

    def parse(line):
        row = _columns(line)
        if DOCSTART in row[: word + 1]:
            return None
        is_token = len(row) >= n_needed
        is_tag = is_token and (row[tag] in tags or TAG.fullmatch(row[tag]))
        if line[0] == "#" and not (is_tag and len(row) in sizes):
            return None
        if not is_token:
            raise ValueError("a word and its tag are expected")
        name = row[tag] if row[tag] == OUTSIDE else prefix + row[tag]
        to_bio([name])  # checks it
        return (row[word], name) if row[word] else None

    if (word, tag) == (1, 2):
        print(f"{path}: words are in column 2, tags in column 3", flush=True)
    parsed = (parse_all(path, sentence, parse) for sentence in sentences)
    examples = [_example(words) for words in parsed if words]
    examples = [example | {"tags": to_bio(example["tags"])} for example in examples]
    return _check_any(examples, path)


def _are_counted(sentences):
    """Whether the first columns are 1, 2, … in each sentence, before a word and its tag."""
    return any(sentences) and all(
        [row[0] for row in rows] == [str(i) for i in range(1, len(rows) + 1)]
        and all(len(row) > 2 for row in rows)
        for rows in sentences
    )


def _columns(line):
    if "\t" in line:
        return [column.strip(SPACES) for column in line.rstrip(SPACES).split("\t")]
    return [column for column in line.split(" ") if column]


def read_klue(path: str | Path) -> list[dict]:
    """KLUE's named entities: lines of a character and its tag; `##` begins a comment.

    Tokens are eojeols with punctuation split off. An entity covers all tokens that
    contain one of its characters, with the particles that follow it; a token with
    characters of several entities belongs to the first one.
    """
    return [_klue_sentence(lines) for lines in _sentences(path, _klue_character)]


def _klue_character(line):
    if line.startswith("##"):
        return None
    character, tab, tag = line.partition("\t")
    if len(character) != 1 or not tab:
        raise ValueError("a character, a tab and its tag are expected")
    to_bio([tag])  # checks it
    return character, tag


def _klue_sentence(characters):
    tokens, tags, is_open = [], [], False
    for character, tag in characters:
        is_punctuation = unicodedata.category(character)[0] == "P"
        if character.isspace():
            is_open = False
            continue
        if is_open and not is_punctuation:
            tokens[-1] += character
            tags[-1] = tag if tags[-1] == "O" else tags[-1]
        else:
            tokens.append(character)
            tags.append(tag)
        is_open = not is_punctuation
    return {"tokens": tokens, "tags": to_bio(tags)}


def read_roles(path: str | Path) -> list[dict]:
    """Semantic roles: an example for each predicate of a sentence, as in CoNLL-2005.

    The columns are the word, the predicate (its lemma, or `-`), and BIO tags or brackets
    for each predicate of the sentence in turn, or all those of CoNLL-2012. `"predicate"` is 1 at the predicate of the
    example, else 0.
    """
    examples = []
    for block in blocks(path):
        block = [(n, x) for n, x in block if not x.startswith(DOCUMENT_LINES)]
        rows = parse_all(path, block, _role_columns)
        predicates = [i for i, columns in enumerate(rows) if columns[1] != "-"]
        n_columns = 2 + len(predicates)
        parse_all(path, block, functools.partial(_check_roles, n_columns))
        for column, predicate in enumerate(predicates, 2):
            cells = [(n, row[column]) for (n, _), row in zip(block, rows)]
            examples.append(
                {
                    "tokens": [columns[0] for columns in rows],
                    "predicate": [int(i == predicate) for i in range(len(rows))],
                    "tags": _role_tags(path, cells),
                }
            )
    return _check_any(examples, path)


def _role_columns(line):
    """The word, its predicate and the roles; of CoNLL-2012's columns, these alone."""
    columns = _columns(line)
    if len(columns) > 11 and columns[2].isdecimal():
        columns = [columns[3], columns[7], *columns[11:-1]]
    if len(columns) < 2 or not all(columns):
        raise ValueError("a word, its predicate or `-`, and roles are expected")
    return columns


def _check_roles(n_columns, line):
    if (n := len(_role_columns(line))) != n_columns:
        raise ValueError(
            f"{n_columns} columns are expected: word, predicate, and one for "
            f"each of {n_columns - 2} predicates, not {n}"
        )


def _role_tags(path, cells):
    """The tags of a column of roles: BIO, or brackets such as `(A0*`, `*` and `*)`."""
    role = ""

    def parse(cell):
        nonlocal role
        bracket = _BRACKET.fullmatch(cell)
        if bracket is None or bracket["role"] and role:
            to_bio([cell])  # checks it
            return cell
        tag = f"I-{role}" if role else OUTSIDE
        if bracket["role"]:
            role, tag = bracket["role"], f"B-{bracket['role']}"
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
    sentences: list[dict] = []
    for example in read_roles(path):
        if not sentences or sentences[-1]["tokens"] != example["tokens"]:
            tags = [OUTSIDE] * len(example["tokens"])
            sentences.append({"tokens": example["tokens"], "tags": tags})
        sentences[-1]["tags"][example["predicate"].index(1)] = f"B-{PREDICATE}"
    return sentences


READERS = {
    "pos": read_conllu,
    "ner": read_conll,
    "klue": read_klue,
    "srl": read_roles,
    "predicates": read_predicates,
}
