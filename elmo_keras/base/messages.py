"""Lines for users on standard error."""

import contextlib
import sys


def say(line: str) -> None:
    """Prints a line, unless the program has no standard error or closed it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)


def say_on_terminal(line: str) -> None:
    """Says what a user waits for; logs and pipes have no need of it."""
    if sys.stderr is not None and sys.stderr.isatty():
        say(line)
