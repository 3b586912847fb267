"""Keeps combining marks and joiners in the token of their letter."""

import unicodedata
from collections.abc import Iterable

Span = tuple[int, int]

ZERO_WIDTH_JOINER = "\u200d"
# Zero width non-joiner, joiner and word joiner, and the soft hyphen: inside of words.
_JOINERS = "\u200c\u200d\u2060\u00ad"


def joined_at_marks(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans of tokens, joined where a mark or a joiner separates them.

    Python's `\\w` leaves out combining marks, so that a regular expression ends a word
    at each vowel sign of Devanagari or Thai and at each accent of decomposed text. A
    mark belongs to the token it follows, and the letters after it to the same word. A
    zero width joiner also joins signs, as in emoji.

    Args:
        text: the text.
        spans: begin and end of each token, in order; a mark is a token of its own.

    >>> joined_at_marks("nai\\u0308ve!", [(0, 3), (3, 4), (4, 6), (6, 7)])
    [(0, 6), (6, 7)]
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
    if _extends(text[begin]) or text[begin - 1] == ZERO_WIDTH_JOINER:
        return True
    is_word = text[first].isalnum() and text[begin].isalnum()
    return is_word and _extends(text[begin - 1])


def _extends(character):
    return unicodedata.category(character)[0] == "M" or character in _JOINERS
