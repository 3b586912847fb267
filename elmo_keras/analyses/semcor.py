"""Files of word senses: SemCor, with a line for each token."""

import functools
import itertools
import re
from pathlib import Path
from typing import NamedTuple

from elmo_keras.tasks.readers.lines import blocks, parse_all

NOTHING = "_"
_NUMBERS = r"[1-5]:\d\d:\d\d:[^:;]*:[^:;]*"
_KEY = re.compile(rf"[^%]+%{_NUMBERS}(;{_NUMBERS})*")


class Instance(NamedTuple):
    """A word, or an expression of several words, with a sense."""

    first: int  # of its tokens in the sentence
    end: int
    word: tuple[str, str]  # lemma and part of speech, which have senses to choose from
    senses: tuple[str, ...]  # keys, usually one


class Sentence(NamedTuple):
    tokens: list[str]
    instances: list[Instance]


def read_semcor(path: str | Path, limit: int | None = None) -> list[Sentence]:
    """The sentences of a file: word, lemma, part of speech and sense key, separated by tabs.

    `_` is a missing one. An expression of several words (`took_place`) becomes several
    tokens. Two keys of one lemma are written `play%1:04:05::;1:04:04::`. Lines without a tab
    that begin with `#` are comments; an empty line ends a sentence.
    """
    sentences = (_parse_sentence(path, block) for block in blocks(path))
    return list(itertools.islice(filter(lambda s: s.tokens, sentences), limit))


def _parse_sentence(path, block):
    sentence = Sentence([], [])
    lines = [(n, line) for n, line in block if "\t" in line or line[0] != "#"]
    parse_all(path, lines, functools.partial(_add_token, sentence))
    return sentence


def _add_token(sentence, line):
    columns = line.split("\t")
    if len(columns) != 4 or not all(columns):
        raise ValueError(
            "word, lemma, part of speech and sense key, separated by tabs, are "
            f"expected (`_` for none), not {line!r}"
        )
    word, lemma, tag, key = columns
    first = len(sentence.tokens)
    sentence.tokens.extend([part for part in word.split("_") if part] or [word])
    if key == NOTHING:
        return
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"a sense key such as `play%1:04:05::` is expected, not {key!r}"
        )
    name, _, numbers = key.partition("%")
    senses = tuple(f"{name}%{number}" for number in numbers.split(";"))
    word, end = (lemma, tag[0]), len(sentence.tokens)
    sentence.instances.append(Instance(first, end, word, senses))
