"""Readers of tagged text. Each sentence gives `{"tokens": […], "tags": […]}`."""

import functools
import unicodedata
from pathlib import Path

from elmo_keras.tasks.readers.lines import blocks, parse_all
from elmo_keras.tasks.tag.entities import to_bio

DOCSTART = "-DOCSTART-"


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


def read_conll(path: str | Path) -> list[dict]:
    """Words (first column) and entities (last column), in any scheme of `to_bio`.

    Columns are separated by tabs, or else by spaces. `-DOCSTART-` is left out.
    """
    examples = [_example(words) for words in _sentences(path, _conll_word)]
    return [example | {"tags": to_bio(example["tags"])} for example in examples]


def _conll_word(line):
    columns = _columns(line)
    if columns[0] == DOCSTART:
        return None
    if len(columns) < 2:
        raise ValueError("a word and its tag are expected")
    to_bio(columns[-1:])  # checks it
    return columns[0], columns[-1]


def _columns(line):
    columns = line.split("\t" if "\t" in line else " ")
    return [column for column in columns if column] or [""]


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

    The columns are the word, the predicate (its lemma, or `-`), and BIO tags for each
    predicate of the sentence in turn. `"predicate"` is 1 at the predicate of the
    example, else 0.
    """
    examples = []
    for block in blocks(path):
        rows = [_columns(line) for _, line in block]
        predicates = [i for i, columns in enumerate(rows) if columns[1:2] != ["-"]]
        parse_all(path, block, functools.partial(_check_roles, len(predicates)))
        for column, predicate in enumerate(predicates, 2):
            examples.append(
                {
                    "tokens": [columns[0] for columns in rows],
                    "predicate": [int(i == predicate) for i in range(len(rows))],
                    "tags": to_bio([columns[column] for columns in rows]),
                }
            )
    return _check_any(examples, path)


def _check_roles(n_predicates, line):
    columns = _columns(line)
    if len(columns) != 2 + n_predicates:
        raise ValueError(
            f"{2 + n_predicates} columns are expected: word, predicate, and one for "
            f"each of {n_predicates} predicates, not {len(columns)}"
        )
    for tag in columns[2:]:
        to_bio([tag])


READERS = {"pos": read_conllu, "ner": read_conll, "klue": read_klue, "srl": read_roles}
