"""Split text into tokens, by name."""

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import get_args

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.config import TokenizerName
from elmo_keras.text.word_rules import FULL_STOP, MARK, RULES, word_rules

Span = tuple[int, int]
Tokenizer = Callable[[str], Sequence[str]]  # text → tokens

# Pieces between spaces repeat, so the spans of so many are cached, of at most this length.
MAX_CACHED, LONGEST_CACHED = 2**15, 50
# The pieces between spaces. Group 1 is a word that only the first rule reads; a sign may follow.
_PIECES = {
    name: re.compile(
        rf"((?:{latin}(?=[,!?]?(?!\S))|[가-힣]+)(?=[.,!?]?(?!\S)))[.,!?]?|\S+"
    )
    for name, latin in {
        "words": "[A-Za-z]+",
        "gsd": "[A-Za-z]+",
        "ewt": "[A-Za-z]*[B-DF-LN-RU-Zb-df-ln-ru-z]",
    }.items()
}
_cache: dict[str, dict[str, list[Span]]] = {name: {} for name in RULES}
_ASCII_SPACES = re.compile(r"[ \t\n\r\v\f]+")


def split_words(text: str, tokenizer: str = "words") -> list[str]:
    """The tokens of raw text.

    Args:
        text: a text, best of one sentence.
        tokenizer: `"words"` splits as the text of the models in the package was:
            punctuation apart, except in abbreviations, numbers, addresses and Latin words
            (`Mr.`, `7.5`, `F-22`), and English contractions as in the Penn Treebank.
            `"ewt"` and `"gsd"` split as the treebanks of Universal Dependencies for
            English and Korean: in English at the hyphens of compounds, and words such as
            `cannot`; in both `%`. Smileys, dates and telephone numbers are whole there.

    A full stop at the end of the text is a token, also after an abbreviation.

    >>> split_words("Mr. Kim doesn't, 7.5점, 재밌어요^^")
    ['Mr.', 'Kim', 'does', "n't", ',', '7.5점', ',', '재밌어요', '^', '^']
    >>> split_words("A well-known Dr. cannot rest :)", "ewt")
    ['A', 'well', '-', 'known', 'Dr.', 'can', 'not', 'rest', ':)']
    """
    return [text[begin:end] for begin, end in word_spans(text, tokenizer)]


def word_spans(text: str, tokenizer: str = "words") -> list[Span]:
    """Where the tokens of `split_words` begin and end."""
    if "%" in text and not text.isascii():
        spans = _token_spans(_mark(text, tokenizer))
    else:
        spans = _join_piece_spans(text, tokenizer)
    if spans and spans[-1][1] - spans[-1][0] > 1:  # does `FULL_STOP`
        begin, end = spans[-1]
        if text[end - 1] == "." and text[end - 2].isalpha():
            spans[-1:] = [(begin, end - 1), (end - 1, end)]
    return spans


def _join_piece_spans(text, tokenizer):
    """The spans of tokens. None depends on text beyond a space."""
    cache, pieces = _cache[tokenizer], [*_PIECES[tokenizer].finditer(text)]
    if len(cache) > MAX_CACHED:
        cache.clear()
    words = {m[0] for m in pieces if not m.lastindex}
    spans = {p: its for p in words if (its := cache.get(p)) is not None}
    if new := [*(words - spans.keys())]:
        marked = _mark("\n".join(new), tokenizer).split("\n")
        spans.update(zip(new, map(_token_spans, marked)))
        cache.update((p, spans[p]) for p in new if len(p) <= LONGEST_CACHED)
    result = []
    for match in pieces:
        begin, end = match.span()
        if match.lastindex:  # a word, and a sign after it or none
            if (middle := match.end(1)) < end:
                result += (begin, middle), (middle, end)
            else:
                result.append((begin, end))
        else:
            result += [(begin + a, begin + b) for a, b in spans[match[0]]]
    return result


def _mark(text, tokenizer):
    text = text.replace(MARK, " ")
    for pattern, replacement in _rules(tokenizer):
        if pattern.search(text):  # quicker than a replacement of nothing
            text = pattern.sub(replacement, text)
    return text


def _token_spans(text):
    """Where tokens begin and end in a text with marks around them."""
    borders = [0, *itertools.accumulate(map(len, text.split(MARK)))]
    return [(a, b) for a, b in zip(borders[1::2], borders[2::2]) if a < b]


@functools.cache
def _rules(tokenizer):
    return [
        (re.compile(pattern), replacement.replace(r"\0", r"\g<0>"))
        for pattern, replacement in word_rules(tokenizer)
        if pattern != FULL_STOP[0]
    ]


def split_spaces(text: str) -> list[str]:
    """The tokens of text that is split already, which may hold other than ASCII spaces."""
    return [token for token in _ASCII_SPACES.split(text) if token]


TOKENIZERS: dict[str | None, Tokenizer] = {
    "spaces": split_spaces,
    **{name: functools.partial(split_words, tokenizer=name) for name in RULES},
}


def find_tokenizer(tokenizer: str | Tokenizer) -> Tokenizer:
    """The tokenizer of a name; a function is returned as it is."""
    if callable(tokenizer):
        return tokenizer
    check_choices(get_args(TokenizerName), tokenizer=tokenizer)
    return TOKENIZERS[tokenizer]
