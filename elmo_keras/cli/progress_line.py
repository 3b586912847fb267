"""A line on standard error that shows the progress of a run."""

import sys
import time

from elmo_keras.cli.status_line import StatusLine, duration


class Progress:
    """Shows tokens, tokens a second and the time left; `with` ends the line.

    Args:
        shown: whether to print the line.
    """

    def __init__(self, shown: bool):
        self._line = StatusLine(sys.stderr, shown)
        self._start = time.perf_counter()
        self._tokens, self._first_share = 0, 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    def add(self, n_tokens: int, share: float | None) -> None:
        """Adds finished tokens, and updates the line from time to time.

        Args:
            n_tokens: tokens since the previous call.
            share: share of the whole input that is done, or None if it is unknown.
        """
        self._tokens += n_tokens
        if self._line.due:
            self._show(share)

    def skip(self, share: float | None) -> None:
        """Starts at a share of the input that was done by an earlier run."""
        self._first_share = share or 0.0
        self._start = time.perf_counter()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_):
        self._line.end()

    def _show(self, share):
        parts = self._counted()
        if share is not None:
            parts = [f"{share:4.0%}", *parts, *self._left(share)]
        self._line.show(parts)

    def _counted(self):
        return f"{self._tokens:,} tokens", f"{self._tokens / self.seconds:,.0f}/s"

    def _left(self, share):
        done = share - self._first_share
        if done <= 0:  # the rest of the input was read ahead before an interruption
            return []
        return [f"{duration((1 - share) * self.seconds / done)} left"]
