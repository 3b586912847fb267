"""Ending a program at a place of its own choice when Ctrl-C is pressed."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

INTERRUPTED = 130  # exit status of a program ended by Ctrl-C


@contextlib.contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """A function that tells whether Ctrl-C was pressed or the process told to end."""
    # An exception in the midst of TensorFlow could abort the program.
    stop = threading.Event()
    signals = signal.SIGINT, signal.SIGTERM
    before = {s: signal.getsignal(s) for s in signals}

    def handle(number, _):
        stop.set()
        signal.signal(number, before[number])  # a second time it ends at once

    try:
        for number in signals:
            signal.signal(number, handle)
        yield stop.is_set
    finally:
        for number in signals:
            signal.signal(number, before[number])
