"""Lines for users."""

import contextlib
import os
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator


def say(line: str) -> None:
    """Prints a line on standard error, unless the program has no standard error or closed it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """A text in one line, without characters that a terminal would obey."""
    text = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(c) == "Cc" else c for c in text)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows on a terminal, but not in a log, the reason of a wait and its seconds.

    It writes to the terminal itself, as standard error may be hidden meanwhile. The next
    line that something else prints takes its place.
    """
    try:
        terminal = os.dup(sys.stderr.fileno()) if sys.stderr.isatty() else None
    except (AttributeError, OSError, ValueError):  # it is missing, closed or no file
        terminal = None
    if terminal is None:
        yield
        return

    def show(text: str) -> None:
        os.write(terminal, f"\x1b[K{text}\r".encode())

    show(f"{what} …")
    try:
        with each_second(lambda seconds: show(f"{what} … {seconds} s")):
            yield
    finally:
        show("")
        os.close(terminal)


@contextlib.contextmanager
def each_second(call: Callable[[int], object]) -> Iterator[None]:
    """Calls a function each second, with the number of seconds, until the end."""
    done = threading.Event()

    def tick() -> None:
        seconds = 0
        while not done.wait(1):
            seconds += 1
            call(seconds)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
