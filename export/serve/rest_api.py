"""The REST API of TensorFlow Serving, as a WSGI application."""

import json
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as NotYet
from http import HTTPStatus

import grpc
from google.protobuf.json_format import MessageToDict
from tensorflow_serving.apis.model_pb2 import ModelSpec

from . import rest_tensors
from .batching import Request
from .grpc_services import SIGNATURES, answered_spec, signature_map
from .request_error import RequestError, invalid
from .served_models import ServedModels

METRICS = "/monitoring/prometheus/metrics"
CLIENT_CHECK = 0.5  # seconds between checks that the client is still connected

_PATH = re.compile(
    r"/v1/models/(?P<name>[^/:]+)"
    r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
    r"(?P<page>/metadata|:\w+)?"
)
_HTTP = {
    grpc.StatusCode.OK: 200,
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


class RestApi:
    """`:predict`, metadata and status of a model, and the page for Prometheus.

    Args:
        model: the served model.
        timeout: seconds after which a waiting request is dropped.
    """

    def __init__(self, model: ServedModels, timeout: float = 30.0):
        self._model = model
        self._timeout = timeout

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        """Answers a request, as WSGI requires."""
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if (method, path) == ("GET", METRICS):
            page = self._model.metrics.page()
            return _respond(start_response, 200, page, kind="text/plain")
        answer = {}

        def refuse(error):
            answer["error"] = error

        page = self._page(method, path)
        with self._model.answering("REST", page.__name__.strip("_"), refuse):
            answer["content"] = page(_PATH.fullmatch(path), environ)
        if error := answer.get("error"):
            content, status = {"error": str(error)}, _HTTP.get(error.code, 500)
        else:
            content, status = answer["content"], 200
        body = json.dumps(content).encode()
        return _respond(start_response, status, body, kind="application/json")

    def _page(self, method, path):
        found = _PATH.fullmatch(path)
        pages = {
            ("GET", None): self._status,
            ("GET", "/metadata"): self._metadata,
            ("POST", ":predict"): self._predict,
            ("POST", ":classify"): self._unimplemented,
            ("POST", ":regress"): self._unimplemented,
        }
        return pages.get((method, found["page"]), _malformed) if found else _malformed

    def _status(self, found, environ):
        response = self._model.status(_spec(found))
        return MessageToDict(
            response,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )

    def _metadata(self, found, environ):
        with self._model.lease(_spec(found)) as servable:
            spec = answered_spec(servable)
            signatures = signature_map(servable)
        return {
            "model_spec": {
                "name": spec.name,
                "signature_name": "",
                "version": str(spec.version.value),
            },
            "metadata": {
                SIGNATURES: MessageToDict(signatures, preserving_proto_field_name=True)
            },
        }

    def _predict(self, found, environ):
        content = rest_tensors.parse(environ["wsgi.input"].read())
        with self._model.lease(_spec(found)) as servable:
            signature = servable.signature(content.get("signature_name", ""))
            inputs = rest_tensors.decode(content, signature)
            waiting = self._model.batcher.submit(
                Request(servable, signature, inputs, signature.chosen([]))
            )
            outputs = self._result(waiting, environ)
        return rest_tensors.encode(content, outputs)

    def _result(self, waiting, environ):
        """The outputs; the request is dropped if the client leaves or time is up."""
        is_gone = environ.get("waitress.client_disconnected", lambda: False)
        latest = time.monotonic() + self._timeout
        while True:
            try:
                return waiting.result(min(CLIENT_CHECK, self._timeout))
            except NotYet:
                late = time.monotonic() >= latest
                # A request that is being computed can't be cancelled: wait for it.
                if (late or is_gone()) and waiting.cancel() and late:
                    raise RequestError(
                        grpc.StatusCode.DEADLINE_EXCEEDED,
                        f"The request waited for {self._timeout} seconds.",
                    ) from None

    def _unimplemented(self, found, environ):
        raise RequestError(
            grpc.StatusCode.UNIMPLEMENTED,
            f"{found['page'][1:]} is not implemented. Use predict.",
        )


def _malformed(found, environ):
    raise invalid(
        f"Malformed request: {environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
    )


def _spec(found):
    spec = ModelSpec(name=found["name"])
    if found["version"]:
        if int(found["version"]) >= 2**63:
            raise invalid(
                f"A version should fit into 64 bits. Received: {found['version']}"
            )
        spec.version.value = int(found["version"])
    if found["label"]:
        spec.version_label = found["label"]
    return spec


def _respond(start_response, status, body, *, kind):
    phrase = "Client Closed Request" if status == 499 else HTTPStatus(status).phrase
    headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
    start_response(f"{status} {phrase}", headers)
    return [body]
