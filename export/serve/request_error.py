"""Errors that a client receives as a gRPC status.

They name no path of the machine and no node of the graph, which would tell a client
about the server and nothing about its request. The log has them.
"""

import logging
import re

import grpc
import tensorflow as tf

# A status is sent in a header of HTTP/2, and the size of headers is limited.
MAX_MESSAGE_LENGTH = 1000

LOG = logging.getLogger(__name__)

# The lines around a message of the graph, and what follows it.
_OF_GRAPH = re.compile(
    r"^(Graph execution error:|Detected at node .*|Node: .*|Original stack trace.*)$",
    re.MULTILINE,
)
_NODES = re.compile(r"\s*(\[\[)?\{\{node [^}]*\}\}(\]\])?")
# All but the last part of a path, which is absolute, an address, or has two folders.
_PART = r"[^\s'\"`()\[\]/]"
_PATHS = re.compile(rf"(?<!{_PART})(?:/|{_PART}+/{_PART}+/|\w+:/+)(?:{_PART}*/)*")
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
    message = _OF_GRAPH.sub("", error.message.split("\n\t [[")[0])
    lines = filter(None, map(str.strip, _NODES.sub("", message).splitlines()))
    return RequestError(_BY_NUMBER[error.error_code], without_paths(" ".join(lines)))


def unexpected(error: Exception) -> RequestError:
    """The error of a server that failed; the log has the reason."""
    LOG.error("A request failed.", exc_info=error)
    return RequestError(
        grpc.StatusCode.INTERNAL,
        f"The server failed with {type(error).__name__}. Its log has the reason.",
    )


def without_paths(message: str) -> str:
    """A message in which only the last part of each path is left."""
    return _PATHS.sub("", message)
