"""Words of texts and their places, and the spans that answer questions."""

import bisect
import re
from typing import NamedTuple

from elmo_keras.tasks.readers.words import joined_at_marks

# Letters, digits and "_" together; every other visible character by itself. The zero
# width space separates words, though Python does not count it as white space.
_TOKEN = re.compile(r"\w+|[^\w\s\u200b]")


LONGEST_ANSWER = 30  # tokens
LONGEST_CUT = 8  # characters of a token that may not belong to an answer
NO_ANSWER, NOT_KNOWN = -1, -2  # labels instead of tokens


class AnswerSpan(NamedTuple):
    """A piece of text: its first and last token, and the characters cut off from them."""

    first: int
    last: int
    cut_before: int = 0  # of the first token
    cut_after: int = 0  # of the last token


class OffsetTokens(NamedTuple):
    tokens: list[str]
    begins: list[int]
    ends: list[int]

    def text(self, source: str, span: AnswerSpan) -> str:
        begin = self.begins[span.first] + span.cut_before
        return source[begin : self.ends[span.last] - span.cut_after]

    def span(self, begin: int, end: int) -> AnswerSpan | None:
        """The span of the characters `[begin, end)`; None if no token is in them."""
        first = bisect.bisect_right(self.ends, begin)
        last = bisect.bisect_left(self.begins, end) - 1
        if first > last:
            return None
        before, after = begin - self.begins[first], self.ends[last] - end
        return AnswerSpan(first, last, max(0, before), max(0, after))


def offset_tokens(text: str) -> OffsetTokens:
    """Splits a text into words, with their combining marks, and single other signs."""
    matches = (match.span() for match in _TOKEN.finditer(text))
    spans = joined_at_marks(text, matches)
    return OffsetTokens(
        [text[begin:end] for begin, end in spans],
        [begin for begin, _ in spans],
        [end for _, end in spans],
    )
