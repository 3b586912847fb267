"""The calls of a gRPC server that are not answered yet."""

import contextlib
import threading
from collections.abc import Iterator

import grpc


class CallsUnderWay:
    """Counts calls from their arrival until their answer is sent."""

    def __init__(self):
        self._changed = threading.Condition()
        self._number = 0

    @contextlib.contextmanager
    def counted(self, context: grpc.ServicerContext) -> Iterator[None]:
        """Counts a call; used by its handler."""
        self._add(1)
        # gRPC calls it after the answer is sent, and when the client hangs up.
        if not context.add_callback(lambda: self._add(-1)):
            self._add(-1)
        yield

    def wait(self, seconds: float) -> bool:
        """Waits until there is none; returns whether there is none."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._number, seconds)

    def _add(self, change):
        with self._changed:
            self._number += change
            self._changed.notify_all()
