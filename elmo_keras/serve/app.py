"""The REST API of TensorFlow Serving."""

import asyncio
import functools
import re
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import unquote

import grpc
import orjson
from aiohttp import HttpVersion11, web
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.model_pb2 import ModelSpec

from elmo_keras.export.version_paths import MAX_VERSION
from elmo_keras.serve import errors, wire
from elmo_keras.serve.bodies import Bodies
from elmo_keras.serve.config import Config
from elmo_keras.serve.models import ONLY_PREDICT, SIGNATURES, Models
from elmo_keras.serve.wire import Content

HEADERS = {"Server": "elmo-keras"}  # in place of the versions of Python and aiohttp
METRICS = "/monitoring/prometheus/metrics"
ROOT = "/v1/"
THREADS = 2  # that read and write JSON: it needs the interpreter most of the time
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}

_MODEL = (
    r"(?i:/v1/models/)(?P<name>[^/:]+)"
    r"(?:(?i:/versions/)(?P<version>[0-9]+)|(?i:/labels/)(?P<label>[^/:]+))?"
)
_PATTERNS = {
    "POST": re.compile(_MODEL + r"(?i::(?P<page>classify|regress|predict))"),
    "GET": re.compile(_MODEL + r"(?i:/(?P<page>metadata))?"),
}


class App:
    """`:predict`, metadata and status of models, and the page for Prometheus.

    JSON is read and written in threads; pages other than `:predict` never wait.
    """

    def __init__(self, models: Models, config: Config):
        self._models, self._config = models, config
        self._bodies = Bodies(config.max_message_bytes, config.rest_body_timeout)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="rest-json")
        self._limits: set[asyncio.Timeout] = set()
        self._stopped = self._ended = False

    def stop(self) -> None:
        self._stopped = True

    def end(self) -> None:
        self._stopped = self._ended = True
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(0)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answers a request; errors are answers too."""
        path = request.rel_url.raw_path
        if path == METRICS:
            page = Content([self._models.metrics.page()])
            return await self._send(request, 200, page, "text/plain")
        target = Target("stopped", error=errors.shutting_down())
        if not self._stopped:
            target = target_of(request.method, path, cors=self._config.rest_cors)
        try:
            with self._models.answering("REST", target.page, target.spec.name):
                if target.error:
                    raise target.error
                if target.page == "predict":
                    content = await self._predict(target.spec, request)
                else:
                    content = self._page(target)
                status = 200
        except errors.RequestError as error:
            if request.transport is None:  # nobody is left to read it
                raise asyncio.CancelledError from None
            status, content = error.http_status, Content([errors.as_json(str(error))])
        return await self._send(request, status, content)

    def _page(self, target):
        match target.page:
            case "options":
                return Content([b""])
            case "status":
                page = _with_defaults(self._models.status(target.spec))
            case "metadata":
                found = self._models.metadata(target.spec)
                signatures = SignatureDefMap()
                found.metadata[SIGNATURES].Unpack(signatures)
                page = {
                    "model_spec": _with_defaults(found.model_spec),
                    "metadata": {SIGNATURES: _with_defaults(signatures)},
                }
            case _:
                raise errors.RequestError(grpc.StatusCode.UNIMPLEMENTED, ONLY_PREDICT)
        # Indented: scripts look for `"state": "AVAILABLE"`.
        return Content([orjson.dumps(page, option=orjson.OPT_INDENT_2)])

    async def _predict(self, spec, request):
        """The outputs, unless they are late, the server ends, or the client leaves."""
        seconds = self._config.rest_timeout
        limit = asyncio.timeout(None)
        self._limits.add(limit)
        try:
            async with limit:
                async with self._bodies.reading(request) as body:
                    if not limit.expired():
                        now = asyncio.get_running_loop().time()
                        limit.reschedule(now + seconds)
                    read = functools.partial(wire.decode, body, seconds=seconds)
                    submitting = self._pool.submit(self._models.submit, spec, read)
                    try:
                        waiting = await asyncio.wrap_future(submitting)
                    except asyncio.CancelledError:
                        submitting.add_done_callback(_drop)
                        raise
                # Cancelling it drops the request.
                outputs = await asyncio.wrap_future(waiting.future)
                return await self._in_thread(
                    wire.encode, outputs, as_columns=waiting.as_columns
                )
        except TimeoutError:
            if self._ended:
                raise errors.shutting_down() from None
            raise errors.too_late(
                f"The request waited for {seconds:g} seconds."
            ) from None
        except asyncio.CancelledError:
            raise errors.cancelled() from None
        finally:
            self._limits.discard(limit)

    def _in_thread(self, function, *arguments, **kwargs):
        return asyncio.wrap_future(self._pool.submit(function, *arguments, **kwargs))

    async def _send(self, request, status, content, content_type="application/json"):
        headers = HEADERS | (CORS if self._config.rest_cors else {})
        response = web.StreamResponse(status=status, headers=headers)
        response.content_type = content_type
        if content.more is None:
            response.content_length = sum(map(len, content.blocks))
        elif request.version >= HttpVersion11:
            response.enable_chunked_encoding()
        if self._stopped:
            response.force_close()

        async def in_time(writing):
            async with asyncio.timeout(self._config.rest_body_timeout):
                await writing

        try:
            await response.prepare(request)
            *blocks, last = content.blocks
            for block in blocks:
                await in_time(response.write(block))
            while content.more:
                block = await self._in_thread(next, content.more, b"")
                if not block:
                    break
                await in_time(response.write(last))
                last = block
            await in_time(response.write_eof(last))
        except ConnectionError:  # the client has left
            raise asyncio.CancelledError from None
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        return response


def _drop(submitting):
    """Gives up a request whose client left while it was read."""
    if not submitting.cancelled() and not submitting.exception():
        submitting.result().future.cancel()


class Target(NamedTuple):
    page: str
    spec: ModelSpec = ModelSpec()
    error: errors.RequestError | None = None


def target_of(method: str, path: str, *, cors: bool = False) -> Target:
    """What a method and an undecoded path without a query ask for."""
    if not path.lower().startswith(ROOT):
        error = errors.not_found(f"Not found: {path}")
        return Target("not_found", error=error)
    if method == "OPTIONS" and cors:
        return Target("options")
    try:
        if method == "GET" and path.lower() == f"{ROOT}models":
            raise errors.invalid("The name of a model is missing: /v1/models/NAME")
        found = _PATTERNS[method].fullmatch(path) if method in _PATTERNS else None
        if not found:
            raise errors.invalid(f"Malformed request: {method} {path}")
        spec = ModelSpec(name=_decoded(found["name"]))
        if found["version"]:
            spec.version.value = _version(found["version"])
        if found["label"]:
            spec.version_label = _decoded(found["label"])
    except errors.RequestError as error:
        return Target("malformed", error=error)
    return Target((found["page"] or "status").lower(), spec)


def _version(digits):
    significant = digits.lstrip("0")
    # `int` refuses to read thousands of digits.
    if len(significant) > 19 or int(significant or 0) > MAX_VERSION:
        raise errors.invalid(
            f"A version should fit into 64 bits. Received: {digits[:40]}"
        )
    return int(significant or 0)


def _decoded(name):
    try:
        decoded = unquote(name, errors="strict")
        decoded.encode()  # bytes of a path that are no text become surrogates
    except UnicodeError:
        raise errors.invalid(f"Names should be UTF-8. Received: {name}") from None
    return decoded


def _with_defaults(message: Message):
    return MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )
