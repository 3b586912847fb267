"""Stopping a program after Ctrl-C or SIGTERM, at a point of its own choice."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; the second ends the program.

    An exception in the middle of a TensorFlow call could abort the program. A loop
    that checks the event between two steps ends cleanly.
    """
    stop = threading.Event()
    signals = signal.SIGINT, signal.SIGTERM
    before = {s: signal.getsignal(s) for s in signals}

    def handle(number, _):
        stop.set()
        signal.signal(number, before[number])

    try:
        for number in signals:
            signal.signal(number, handle)
        yield stop
    finally:
        for number in signals:
            signal.signal(number, before[number])
