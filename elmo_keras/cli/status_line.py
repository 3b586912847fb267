"""A line that shows the state of a running program."""

import shutil
import time
from collections.abc import Sequence
from typing import TextIO

BETWEEN_UPDATES, BETWEEN_LINES = 0.2, 30  # seconds, on a terminal and elsewhere


class StatusLine:
    """Shows the state of a program: on a terminal one line that is written over.

    Elsewhere, as in a log file, each update is a line of its own.

    Args:
        stream: where to print, `sys.stdout` or `sys.stderr`.
        shown: whether to print at all.
    """

    def __init__(self, stream: TextIO, shown: bool = True):
        self._stream, self._shown = stream, shown
        self._terminal = stream.isatty()
        self._last = time.perf_counter()
        self._width = 0  # of what is on the terminal's line
        self._printed = ""  # to a file

    @property
    def due(self) -> bool:
        """Whether enough time has passed for an update."""
        between = BETWEEN_UPDATES if self._terminal else BETWEEN_LINES
        return time.perf_counter() - self._last >= between

    def show(self, parts: Sequence[str]) -> None:
        """Shows the parts, on a terminal those that fit in its width."""
        self._last = time.perf_counter()
        if not self._shown:
            return
        if not self._terminal:
            self._print_once(" · ".join(parts))
            return
        while len(line := " · ".join(parts)) >= _columns() and len(parts) > 1:
            parts = parts[:-1]
        self._write(line[: _columns() - 1])
        self._width = len(line)

    def _print_once(self, line):
        if line != self._printed:
            print(line, file=self._stream, flush=True)
        self._printed = line

    def show_briefly(self, text: str) -> None:
        """Shows a text on a terminal only, until the next update."""
        if self._terminal:
            self.show([text])

    def print(self, text: str) -> None:
        """Prints a line that stays, in place of what a terminal shows."""
        if self._shown:
            self.clear()
            print(text, file=self._stream, flush=True)

    def clear(self) -> None:
        """Makes room on a terminal for other output."""
        if self._width:
            self._write("")
            print(end="\r", file=self._stream, flush=True)
            self._width = 0

    def end(self) -> None:
        """Leaves what is on a terminal's line, and goes to the next one."""
        if self._shown and self._terminal:
            print(file=self._stream, flush=True)
            self._width = 0

    def _write(self, line):
        width = min(max(self._width, 70), _columns() - 1)
        print(f"\r{line:<{width}}", end="", file=self._stream, flush=True)


def _columns():
    return shutil.get_terminal_size().columns


def duration(seconds: float) -> str:
    """Hours, minutes and seconds: `0:02:05`."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
