"""Errors that a client receives as a status of gRPC or HTTP.

They name no node of the graph, which would tell a client nothing about its request.
"""

import functools
import logging
import re
from concurrent.futures import CancelledError

import grpc
import tensorflow as tf

# A status is sent in a header of HTTP/2, and the size of headers is limited.
MAX_MESSAGE_LENGTH = 1000

LOG = logging.getLogger(__name__)

_NODES = re.compile(r"\s*(\[\[)?\{\{node [^}]*\}\}(\]\])?")
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_HTTP = {  # TensorFlow Serving maps them so; all others are a 500
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
}


class RequestError(Exception):
    """A request that is refused or fails; a long message is cut."""

    def __init__(
        self, code: grpc.StatusCode, message: str, http_status: int | None = None
    ):
        super().__init__(message[:MAX_MESSAGE_LENGTH])
        self.code = code
        self.http_status = http_status or _HTTP.get(code, 500)


invalid = functools.partial(RequestError, grpc.StatusCode.INVALID_ARGUMENT)
not_found = functools.partial(RequestError, grpc.StatusCode.NOT_FOUND)
too_late = functools.partial(RequestError, grpc.StatusCode.DEADLINE_EXCEEDED)
too_much = functools.partial(RequestError, grpc.StatusCode.RESOURCE_EXHAUSTED)
shutting_down = functools.partial(
    RequestError, grpc.StatusCode.UNAVAILABLE, "The server is shutting down."
)


def tensorflow_error(error: tf.errors.OpError) -> RequestError:
    before, *_ = error.message.split("\n\t [[")  # positions in the graph follow
    *_, message = ["", *_NODES.sub("", before).splitlines()]
    return RequestError(_CODES[error.error_code], message.strip())


def request_error(error: Exception) -> RequestError:
    """Any error as one that a client receives; the log has those of the server."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, CancelledError):
        return RequestError(grpc.StatusCode.CANCELLED, "The client has disconnected.")
    LOG.error("A request failed.", exc_info=error)
    return RequestError(
        grpc.StatusCode.INTERNAL,
        f"The server failed with {type(error).__name__}. Its log has the reason.",
    )
