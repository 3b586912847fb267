"""Splits text into tokens with their offsets."""

import re
from typing import NamedTuple

# Letters, digits and "_" together; every other visible character by itself.
_TOKEN = re.compile(r"\w+|[^\w\s]")


class OffsetTokens(NamedTuple):
    """Tokens, and the offsets where each begins and ends in the text."""

    tokens: list[str]
    begins: list[int]
    ends: list[int]

    def text(self, source: str, first: int, last: int) -> str:
        """The text of `source` from token `first` to token `last`."""
        return source[self.begins[first] : self.ends[last]]

    def span(self, begin: int, end: int) -> tuple[int, int] | None:
        """First and last token of the characters `[begin, end)`.

        None if they do not begin and end at token boundaries.
        """
        try:
            return self.begins.index(begin), self.ends.index(end)
        except ValueError:
            return None


def offset_tokens(text: str) -> OffsetTokens:
    """Splits a text into words and single punctuation marks.

    >>> tokens = offset_tokens("In 1990, Ann's.")
    >>> tokens.tokens
    ['In', '1990', ',', 'Ann', "'", 's', '.']
    >>> tokens.span(3, 8), tokens.span(4, 8)
    ((1, 2), None)
    >>> tokens.text("In 1990, Ann's.", 3, 5)
    "Ann's"
    """
    matches = list(_TOKEN.finditer(text))
    return OffsetTokens(
        [match.group() for match in matches],
        [match.start() for match in matches],
        [match.end() for match in matches],
    )
