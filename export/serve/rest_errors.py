"""Errors as answers of HTTP."""

import json

import grpc

from .request_error import RequestError

_STATUSES = {
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.UNAUTHENTICATED: 401,
}


class HttpError(RequestError):
    """An error with a status of HTTP that gRPC does not have.

    Args:
        status: the HTTP status.
        code: the nearest gRPC status, for the metrics.
        message: says what was expected and what came.
    """

    def __init__(self, status: int, code: grpc.StatusCode, message: str):
        super().__init__(code, message)
        self.status = status


def http_status(error: RequestError) -> int:
    """The HTTP status of an error, as TensorFlow Serving maps those of gRPC."""
    if isinstance(error, HttpError):
        return error.status
    return _STATUSES.get(error.code, 500)


def error_content(message: str) -> bytes:
    """The content of an answer that is an error."""
    return json.dumps({"error": message}).encode()


def stopped() -> RequestError:
    """The error of requests that come or wait while the server ends."""
    return RequestError(grpc.StatusCode.UNAVAILABLE, "The server is shutting down.")
