"""Windows: the tokens of the rows of a text in one step, forward and backward.

Every window is a function of the corpus, the plan and the step.
"""

import functools
from typing import NamedTuple

import numpy as np

from elmo_keras.text.corpus import BEGIN, END, Corpus


class Plan(NamedTuple):
    """Sentences in reading order, cut into rows of about equal length."""

    order: np.ndarray  # (sentences,), their indices
    # (sentences + 1,), where each starts in one long stream; it takes one position more
    # than it has tokens, for a boundary.
    starts: np.ndarray
    rows: np.ndarray  # (rows + 1,), where each row starts, and the stream's end
    from_zero: np.ndarray  # bool (sentences,); all others continue from the one before

    @classmethod
    def in_random_order(
        cls,
        corpus: Corpus,
        n_rows: int,
        *,
        seed: int,
        epoch: int,
        zero_state_share: float = 0.0,
    ) -> "Plan":
        """The plan of an epoch; a function of the arguments."""
        rng = np.random.default_rng((seed, epoch))
        order = rng.permutation(len(corpus))
        from_zero = rng.random(len(corpus)) < zero_state_share
        return cls._cut(corpus, n_rows, order=order, from_zero=from_zero)

    @classmethod
    def in_order(cls, corpus: Corpus, n_rows: int) -> "Plan":
        """The sentences as they come, each from the zero state."""
        n = len(corpus)
        return cls._cut(corpus, n_rows, order=np.arange(n), from_zero=np.ones(n, bool))

    @classmethod
    def _cut(cls, corpus, n_rows, *, order, from_zero):
        starts = np.zeros(len(corpus) + 1, np.int64)
        np.cumsum(corpus.lengths()[order] + 1, out=starts[1:])
        even = np.arange(n_rows + 1) * starts[-1] // n_rows
        rows = starts[np.searchsorted(starts, even)]
        return cls(order=order, starts=starts, rows=rows, from_zero=from_zero)

    @property
    def longest_row(self) -> int:
        return int(np.diff(self.rows).max())

    def n_steps(self, unroll_steps: int) -> int:
        """Steps of `unroll_steps` tokens until the longest row ends."""
        return -(-self.longest_row // unroll_steps)


class Window(NamedTuple):
    """The contents of some rows in one step."""

    inputs: np.ndarray  # (2, rows, time), word ids to read, forward and backward
    targets: np.ndarray  # (2, rows, time), word ids to predict
    real: np.ndarray  # bool (rows, time), False after the end of a row
    # bool (rows, time), True where a sentence starts that is read from the zero state;
    # both directions start it at the same position.
    from_zero: np.ndarray


def window(
    corpus: Corpus,
    plan: Plan,
    step: int,
    *,
    unroll_steps: int,
    rows: range | slice = slice(None),
) -> Window:
    """The contents of the rows in a step.

    A sentence is read as `<S> w_1 … w_n`, predicting `w_1 … w_n </S>`; backward as
    `</S> w_n … w_1`, predicting `w_n … w_1 <S>`.
    """
    begins, ends = plan.rows[:-1][rows, None], plan.rows[1:][rows, None]
    positions = begins + step * unroll_steps + np.arange(unroll_steps)
    real = positions < ends
    positions = np.where(real, positions, 0)
    sentence = np.searchsorted(plan.starts, positions, side="right") - 1
    offset = positions - plan.starts[sentence]
    length = plan.starts[sentence + 1] - plan.starts[sentence] - 1
    end = corpus.ends[plan.order[sentence]]

    tokens = functools.partial(_tokens, corpus)
    forward, backward = end - length + offset, end - offset
    first, over = offset == 0, offset == length
    inputs = tokens(forward - 1, begin=first), tokens(backward, end=first)
    targets = tokens(forward, end=over), tokens(backward - 1, begin=over)
    return Window(
        inputs=np.stack(inputs),
        targets=np.stack(targets),
        real=real,
        from_zero=real & first & plan.from_zero[sentence],
    )


def _tokens(corpus, at, *, begin=False, end=False):
    """The tokens at these positions of the corpus, `<S>` or `</S>` where asked for."""
    # Only the positions of boundaries can be outside the corpus.
    inside = np.clip(at, 0, len(corpus.tokens) - 1)
    return np.where(begin, BEGIN, np.where(end, END, corpus.tokens[inside]))
