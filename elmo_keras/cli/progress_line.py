"""How far a run is, told while it goes on."""

import sys
import time


class Progress:
    """A line on standard error that says how far a run is; `with` ends the line.

    Args:
        shown: whether there is one.
    """

    def __init__(self, shown: bool):
        self._shown = shown
        self._terminal = sys.stderr.isatty()
        self._start = self._last = time.perf_counter()
        self._tokens, self._first_share = 0, 0.0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._start

    def add(self, n_tokens: int, share: float | None) -> None:
        """Tells that so many tokens more are done.

        Args:
            n_tokens: tokens since the last time.
            share: of the whole input that is behind, or None if it is not known.
        """
        self._tokens += n_tokens
        if time.perf_counter() - self._last >= (0.2 if self._terminal else 30):
            self._show(share)

    def skip(self, share: float | None) -> None:
        """Tells that this share of the input was done before."""
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
        parts = [f"{self._tokens:,} tokens", f"{self._tokens / self.seconds:,.0f}/s"]
        if share is not None:
            parts = [f"{share:4.0%}", *parts, *self._left(share)]
        line = " · ".join(parts)
        line = f"\r{line:<70}" if self._terminal else f"{line}\n"
        print(line, end="", file=sys.stderr, flush=True)

    def _left(self, share):
        gone = share - self._first_share
        minutes, seconds = divmod(round((1 - share) * self.seconds / gone), 60)
        hours, minutes = divmod(minutes, 60)
        return [f"{hours}:{minutes:02}:{seconds:02} left"]
