"""Errors that a client is told as a gRPC status."""

import grpc
import tensorflow as tf

# A status travels in a header of HTTP/2, and headers are bounded.
LONGEST_MESSAGE = 1000

_BY_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


class RequestError(Exception):
    """A request that is refused, or can't be answered.

    Args:
        code: the status of gRPC; REST has a number for each.
        message: what was expected, what came, what to do; cut if it is long.
    """

    def __init__(self, code: grpc.StatusCode, message: str):
        super().__init__(message[:LONGEST_MESSAGE])
        self.code = code


def invalid(message: str) -> RequestError:
    """The error of a request that is wrong by itself."""
    return RequestError(grpc.StatusCode.INVALID_ARGUMENT, message)


def of_tensorflow(error: tf.errors.OpError) -> RequestError:
    """An error of the graph, without the names of its nodes."""
    message = error.message.removeprefix("Graph execution error:\n\n")
    message = message.split("\n\t [[")[0]
    return RequestError(_BY_NUMBER[error.error_code], message)
