"""A line on standard error that shows the progress of a run."""

import sys
import time


class Progress:
    """Shows tokens, tokens a second and the time left; `with` ends the line.

    Args:
        shown: whether to print the line.
    """

    def __init__(self, shown: bool):
        self._shown = shown
        self._terminal = sys.stderr.isatty()
        self._start = self._last = time.perf_counter()
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
        if time.perf_counter() - self._last >= (0.2 if self._terminal else 30):
            self._show(share)

    def skip(self, share: float | None) -> None:
        """Starts at a share of the input that was done by an earlier run."""
        self._first_share = share or 0.0
        self._start = time.perf_counter()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_):
        if self._shown and self._terminal:
            print(file=sys.stderr)

    def _show(self, share):
        self._last = time.perf_counter()
        if not self._shown:
            return
        parts = self._counted()
        if share is not None:
            parts = [f"{share:4.0%}", *parts, *self._left(share)]
        line = " · ".join(parts)
        line = f"\r{line:<70}" if self._terminal else f"{line}\n"
        print(line, end="", file=sys.stderr, flush=True)

    def _counted(self):
        return f"{self._tokens:,} tokens", f"{self._tokens / self.seconds:,.0f}/s"

    def _left(self, share):
        done = share - self._first_share
        if done <= 0:  # the rest of the input was read ahead before an interruption
            return []
        minutes, seconds = divmod(round((1 - share) * self.seconds / done), 60)
        hours, minutes = divmod(minutes, 60)
        return [f"{hours}:{minutes:02}:{seconds:02} left"]
