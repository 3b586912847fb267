"""The progress bar of all long work."""

import contextlib
import io
import sys
import time
from collections.abc import Iterator

from tqdm import tqdm

from elmo_keras.base.messages import each_second

BETWEEN_UPDATES, BETWEEN_LINES = 0.2, 30  # seconds, on a terminal and elsewhere
LONG = 3  # seconds of work that is shown if nothing else is said


class _Lines:
    """A file that is not a terminal: it gets whole lines, which never change."""

    def __init__(self, file):
        self._file = file

    def write(self, text):
        if line := text.strip("\r\n").rstrip():
            self._file.write(f"{line}\n")

    def flush(self):
        self._file.flush()

    def isatty(self):
        return False


class Progress(tqdm):
    """tqdm's bar on a terminal; in a file or pipe, a line of its own now and then.

    It takes the arguments of `tqdm`, and by default counts tokens on standard error. With
    `progress=False` nothing is shown; with None a bar, on a terminal and after `LONG`
    seconds of work.
    """

    monitor_interval = 0  # no thread, so that a program can still fork

    def __init__(self, iterable=None, **options):
        file, progress = options.pop("file", sys.stderr), options.pop("progress", True)
        # Programs in a window have no standard error.
        if file is None or getattr(file, "closed", False):
            file, progress = io.StringIO(), False
        terminal = hasattr(file, "isatty") and file.isatty()
        defaults = {
            "file": file if terminal else _Lines(file),
            "unit": " tokens",
            "unit_scale": True,
            "dynamic_ncols": True,
            "miniters": 1,
            "mininterval": BETWEEN_UPDATES if terminal else BETWEEN_LINES,
            "delay": 0 if terminal else BETWEEN_LINES,
            "disable": not progress,
        }
        if progress is None and terminal:
            defaults |= {"delay": LONG, "disable": False}
        super().__init__(iterable, **defaults | options)

    def add(self, n: int, share: float | None = None) -> None:
        """Counts work; the total follows from the share of the input that is done, if known."""
        if share:
            self.total = max(round((self.n + n) / share), self.n + n)
        self.update(n)

    def skip(self, n: int) -> None:
        """Counts work that an earlier run did, which is left out of the rate."""
        if not self.disable:
            self.initial += n
            self.n += n
            self.last_print_n += n
            self.unpause()

    @contextlib.contextmanager
    def ticking(self) -> Iterator[None]:
        """Shows the time each second on a terminal, also while nothing is counted."""
        if self.disable or not self.fp.isatty():
            yield
            return
        with each_second(lambda _: self.refresh()):
            yield

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Leaves the time of other work out of the rate."""
        if self.disable:
            yield
            return
        start = time.time()  # tqdm's clock
        with self.ticking():
            yield
        spent = time.time() - start
        self.start_t += spent
        self.last_print_t += spent

    def say(self, text: str) -> None:
        """Prints a line that stays, above the bar."""
        if self.disable:
            return
        if self.fp.isatty():
            self.write(text, file=self.fp)  # it shows the bar again
        else:
            self.fp.write(text)
        self.fp.flush()
