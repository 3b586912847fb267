"""Errors that a client receives as a gRPC status."""

import grpc
import tensorflow as tf

# A status is sent in a header of HTTP/2, and the size of headers is limited.
MAX_MESSAGE_LENGTH = 1000

_BY_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


class RequestError(Exception):
    """A request that is refused or fails.

    Args:
        code: the gRPC status; REST maps it to an HTTP status.
        message: says what was expected, what came, what to do; a long one is cut.
    """

    def __init__(self, code: grpc.StatusCode, message: str):
        super().__init__(message[:MAX_MESSAGE_LENGTH])
        self.code = code


def invalid(message: str) -> RequestError:
    """The error of a request that no server could answer."""
    return RequestError(grpc.StatusCode.INVALID_ARGUMENT, message)


def of_tensorflow(error: tf.errors.OpError) -> RequestError:
    """An error raised by the graph, without the names of its nodes."""
    message = error.message.removeprefix("Graph execution error:\n\n")
    message = message.split("\n\t [[")[0]
    return RequestError(_BY_NUMBER[error.error_code], message)
