"""Readers of tagged text. Each sentence gives `{"tokens": […], "tags": […]}`."""

import unicodedata
from pathlib import Path

from elmo_keras.tasks.readers.lines import blocks, malformed
from elmo_keras.tasks.tag.entities import to_bio

DOCSTART = "-DOCSTART-"


def read_conllu(path: str | Path) -> list[dict]:
    """Words and universal parts of speech of a CoNLL-U file.

    Lines of multiword tokens (`1-2`) and of empty nodes (`1.1`) are left out.
    """
    examples = []
    for block in blocks(path):
        words = [_conllu_word(path, *line) for line in block if line[1][0] != "#"]
        words = [word for word in words if word is not None]
        if words:
            tokens, tags = map(list, zip(*words))
            examples.append({"tokens": tokens, "tags": tags})
    return _not_empty(examples, path)


def _conllu_word(path, number, line):
    """Word and tag, or None for a line without a word."""
    columns = line.split("\t")
    if len(columns) != 10:
        reason = f"10 columns separated by tabs are expected, not {len(columns)}"
        raise malformed(path, number, reason)
    if not columns[0].replace("-", "").replace(".", "").isdecimal():
        reason = f"the first column should be a number, not {columns[0]!r}"
        raise malformed(path, number, reason)
    if not columns[0].isdecimal():
        return None
    if not columns[1] or columns[3] in ("", "_"):
        raise malformed(path, number, "the word or its part of speech is missing")
    return columns[1], columns[3]


def read_conll(path: str | Path) -> list[dict]:
    """Words (first column) and entities (last column) as BIO tags.

    Columns are separated by tabs, or else by spaces; the tags may be IO, IOB1, BIO,
    BIOES or BILOU. `-DOCSTART-` is left out.
    """
    examples = []
    for block in blocks(path):
        rows = [(number, _columns(line)) for number, line in block]
        rows = [row for row in rows if row[1][0] != DOCSTART]
        for number, columns in rows:
            if len(columns) < 2:
                raise malformed(path, number, "a word and its tag are expected")
            _check_tag(path, number, columns[-1])
        if rows:
            tokens = [columns[0] for _, columns in rows]
            tags = to_bio([columns[-1] for _, columns in rows])
            examples.append({"tokens": tokens, "tags": tags})
    return _not_empty(examples, path)


def _columns(line):
    columns = line.split("\t" if "\t" in line else " ")
    return [column for column in columns if column] or [""]


def _check_tag(path, number, tag):
    try:
        to_bio([tag])
    except ValueError as error:
        raise malformed(path, number, str(error)) from None


def read_klue(path: str | Path) -> list[dict]:
    """KLUE's named entities: lines of a character and its tag; `##` begins a comment.

    Tokens are eojeols with punctuation split off. An entity covers all tokens that
    contain one of its characters, with the particles that follow it; a token with
    characters of several entities belongs to the first one.
    """
    examples = []
    for block in blocks(path):
        lines = [line for line in block if not line[1].startswith("##")]
        characters = [_klue_character(path, *line) for line in lines]
        if characters:
            examples.append(_klue_sentence(characters))
    return _not_empty(examples, path)


def _klue_character(path, number, line):
    character, tab, tag = line.partition("\t")
    if len(character) != 1 or not tab:
        reason = "a character, a tab and its tag are expected"
        raise malformed(path, number, reason)
    _check_tag(path, number, tag)
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

    The columns are the word, the predicate (its lemma, or `-`), and BIO tags for each
    predicate of the sentence in turn. `"predicate"` is 1 at the predicate of the
    example, else 0.
    """
    examples = []
    for block in blocks(path):
        rows = [(number, _columns(line)) for number, line in block]
        predicates = [i for i, (_, columns) in enumerate(rows) if columns[1:2] != ["-"]]
        for number, columns in rows:
            _check_roles(path, number, columns, n_predicates=len(predicates))
        for column, predicate in enumerate(predicates, 2):
            examples.append(
                {
                    "tokens": [columns[0] for _, columns in rows],
                    "predicate": [int(i == predicate) for i in range(len(rows))],
                    "tags": to_bio([columns[column] for _, columns in rows]),
                }
            )
    return _not_empty(examples, path)


def _check_roles(path, number, columns, *, n_predicates):
    if len(columns) != 2 + n_predicates:
        raise malformed(
            path,
            number,
            f"{2 + n_predicates} columns are expected: word, predicate, and one for "
            f"each of {n_predicates} predicates, not {len(columns)}",
        )
    for tag in columns[2:]:
        _check_tag(path, number, tag)


def _not_empty(examples, path):
    if not examples:
        raise ValueError(f"{path} holds no sentence.")
    return examples
