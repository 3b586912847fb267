"""A request that waits for its outputs."""

import concurrent.futures
import contextlib
import dataclasses
import time

import grpc

from .joining import Arrays, is_joinable
from .lanes import Lane
from .request_error import RequestError
from .request_size import SizeLimits, check_answer, checked_size
from .servable import Servable
from .signature import Signature


@dataclasses.dataclass(eq=False)
class Request:
    """Validated inputs that wait for their outputs.

    Args:
        servable: the version that answers.
        signature: one of its signatures.
        inputs: key → array.
        keys: the requested outputs, sorted.
        seconds: time that the client waits, or None.

    Attributes:
        future: of the outputs or the error.
        lane: the threads that compute it.
    """

    servable: Servable
    signature: Signature
    inputs: Arrays
    keys: tuple[str, ...]
    seconds: float | None = None

    def __post_init__(self):
        self.future: concurrent.futures.Future[Arrays] = concurrent.futures.Future()
        self.arrived = time.monotonic()
        self.rows = self.width = 0
        self.joinable = is_joinable(self.inputs)
        self.lane = Lane.SHORT

    def measure(self, limits: SizeLimits, long_request_tokens: int) -> None:
        """Sets what the queue needs to know of its size.

        Raises:
            RequestError: it is too large, or its answer would be.
        """
        size = checked_size(self.inputs, self.servable.tokenizer, limits)
        check_answer(size, self.signature, self.keys, limits=limits)
        self.rows, self.width = size.rows, size.time
        if size.tokens > long_request_tokens:
            self.lane, self.joinable = Lane.LONG, False

    def fits(self, other: "Request") -> bool:
        """Whether one call can answer both."""
        return (
            self.joinable
            and other.joinable
            and self.servable is other.servable
            and self.signature is other.signature
            and self.keys == other.keys
        )

    def left(self) -> float | None:
        """Seconds until the client stops waiting, or None if it doesn't.

        Raises:
            RequestError: it has stopped.
        """
        if self.seconds is None:
            return None
        left = self.arrived + self.seconds - time.monotonic()
        if left <= 0:
            raise RequestError(
                grpc.StatusCode.DEADLINE_EXCEEDED, "The deadline has passed."
            )
        return left

    def finish(self, outputs: Arrays) -> None:
        """Sets the outputs, unless the server was closed meanwhile."""
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            self.future.set_result(outputs)

    def fail(self, error: Exception) -> None:
        """Sets the error, unless there is a result, an error or no client."""
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            self.future.set_exception(error)
