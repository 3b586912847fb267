"""Scores of tokens → the piece of a text that answers a question."""

import bisect
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from elmo_keras.text.tokenizers import word_spans

LONGEST_ANSWER = 30  # tokens
NO_ANSWER, NOT_KNOWN = -1, -2  # labels instead of tokens


class OffsetTokens(NamedTuple):
    tokens: list[str]
    begins: Sequence[int]
    ends: Sequence[int]

    def answer(
        self, source: str, first: int, last: int, endings: Collection[str] = ()
    ) -> str:
        """The piece of a text from its first to its last token.

        It loses the longest of the endings that leaves something of the last token.

        >>> offset_tokens("서울에서는").answer("서울에서는", 0, 0, ["는", "에서는"])
        '서울'
        """
        token = self.tokens[last]
        sizes = (i for i in range(1, len(token)) if token[i:] in endings)
        size = next(sizes, len(token))
        return source[self.begins[first] : self.begins[last] + size]

    def span(self, begin: int, end: int) -> tuple[int, int] | None:
        """First and last token of the characters `[begin, end)`; None if there is none."""
        first = bisect.bisect_right(self.ends, begin)
        last = bisect.bisect_left(self.begins, end) - 1
        return (first, last) if first <= last else None


def offset_tokens(text: str) -> OffsetTokens:
    """The tokens of `split_words`, with their offsets."""
    spans = word_spans(text)
    begins, ends = ([span[i] for span in spans] for i in (0, 1))
    return OffsetTokens([text[begin:end] for begin, end in spans], begins, ends)


Scores = tuple[np.ndarray, np.ndarray, float]  # of starts, of ends, of no answer


class Answer(NamedTuple):
    """The best span of a text, and logarithms of probabilities.

    Attributes:
        span: its first and its last token.
        score: the score of the span.
        none: the score of no answer.
        total: the logarithm of the sum of exp(score) over all spans and no answer.
    """

    span: tuple[int, int]
    score: float
    none: float
    total: float

    @property
    def is_answer(self) -> bool:
        """Whether the span is at least as likely as no answer."""
        return self.score >= self.none


def best_answer(scores: Scores, longest: int) -> Answer:
    """The best span of at most `longest` tokens."""
    starts, ends, none = scores
    padded = np.pad(ends, (0, longest - 1), constant_values=-np.inf)
    sums = starts[:, None] + sliding_window_view(padded, longest)
    first, distance = np.unravel_index(sums.argmax(), sums.shape)
    total = np.logaddexp.reduce(starts) + np.logaddexp.reduce(ends)
    total = float(np.logaddexp(total, none))
    span = int(first), int(first + distance)
    return Answer(span, float(sums[first, distance]), float(none), total)
