"""Split text into tokens, by name."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from elmo_keras.argument_checks import check_choices
from elmo_keras.config import TokenizerName

Span = tuple[int, int]
Tokenizer = Callable[[str], Sequence[str]]  # text → tokens

ZERO_WIDTH_JOINER = "\u200d"
# Zero width non-joiner, joiner and word joiner, and the soft hyphen: inside of words.
_JOINERS = "\u200c\u200d\u2060\u00ad"


def join_at_marks(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans of tokens, in order, joined where a mark or a joiner separates them.

    Python's `\\w` leaves out combining marks, so that a regular expression ends a word at
    each vowel sign of Devanagari or Thai and at each accent of decomposed text. A zero
    width joiner also joins signs, as in emoji.
    """
    if text.isascii():
        return list(spans)
    joined: list[Span] = []
    for begin, end in spans:
        if joined and joined[-1][1] == begin and _belong(text, joined[-1][0], begin):
            joined[-1] = joined[-1][0], end
        else:
            joined.append((begin, end))
    return joined


def _belong(text, first, begin):
    """Whether the token at `begin` continues the one from `first` to it."""
    if extends(text[begin]) or text[begin - 1] == ZERO_WIDTH_JOINER:
        return True
    is_word = text[first].isalnum() and text[begin].isalnum()
    return is_word and extends(text[begin - 1])


def extends(character: str) -> bool:
    """Whether it is a combining mark or a joiner, which belongs to what is before it."""
    return unicodedata.category(character)[0] == "M" or character in _JOINERS


_CONTRACTION = r"(?:n['’]t|['’](?:s|m|re|ve|ll|d))(?![^\W_])"
_TOKEN = re.compile(
    rf"""
    {_CONTRACTION}
    | (?: (?!{_CONTRACTION})
          (?: [^\W_] | (?<=[a-z0-9]) [.,'’·/-] (?=[a-z0-9]) ) )+
      (?: (?<=[0-9]) % )?
    | ([.!?~]) \1*
    | [^\w\s\u200b] | _
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ASCII_SPACES = re.compile(r"[ \t\n\r\v\f]+")


def split_words(text: str) -> list[str]:
    """The tokens of raw text, split like the training text of most language models.

    Words are split at spaces, English contractions as in the Penn Treebank, and
    punctuation is split off, except inside numbers and Latin words (`7.5`, `F-22`).
    Repetitions of one of `.!?~` stay together; other signs are tokens of their own. The
    zero width space is a space.

    >>> split_words("I don't... 7.5점, 재밌어요^^")
    ['I', 'do', "n't", '...', '7.5점', ',', '재밌어요', '^', '^']
    """
    return [text[begin:end] for begin, end in word_spans(text)]


def word_spans(text: str) -> list[Span]:
    """Where the tokens of `split_words` begin and end."""
    return join_at_marks(text, (match.span() for match in _TOKEN.finditer(text)))


def split_spaces(text: str) -> list[str]:
    """The tokens of text that is split already, which may hold other than ASCII spaces."""
    return [token for token in _ASCII_SPACES.split(text) if token]


TOKENIZERS: dict[str | None, Tokenizer] = {
    "spaces": split_spaces,
    "words": split_words,
}


def find_tokenizer(tokenizer: str | Tokenizer) -> Tokenizer:
    """The function of a name, or itself."""
    if callable(tokenizer):
        return tokenizer
    check_choices(get_args(TokenizerName), tokenizer=tokenizer)
    return TOKENIZERS[tokenizer]
