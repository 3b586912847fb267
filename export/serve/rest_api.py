"""The REST API of TensorFlow Serving."""

import asyncio
import contextlib
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import grpc
import orjson
from aiohttp import web

from . import rest_answers, rest_tensors
from .batching import Request
from .request_error import RequestError
from .rest_bodies import Bodies, BodyError
from .rest_connections import error_content
from .rest_options import RestOptions
from .rest_pages import metadata_page, status_page
from .rest_paths import is_of_api, parse_path
from .served_model import ServedModel

METRICS = "/monitoring/prometheus/metrics"
THREADS = 2  # that read and write JSON: it needs the interpreter most of the time
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}

_HTTP = {
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


class Answer(NamedTuple):
    """An answer of the API.

    Attributes:
        status: the HTTP status.
        blocks: the content in parts, at least one.
        content_type: of the content.
    """

    status: int
    blocks: list[bytes]
    content_type: str = "application/json"


class RestApi:
    """`:predict`, metadata and status of a model, and the page for Prometheus.

    It lives in the event loop of a server. Pages other than `:predict` are answered
    there at once, whatever waits or is computed.

    Args:
        model: the served model.
        options: limits of time.
        max_body_bytes: maximum size of a body.
    """

    def __init__(self, model: ServedModel, options: RestOptions, max_body_bytes: int):
        self._model, self._options = model, options
        self._bodies = Bodies(max_body_bytes, options.body_timeout)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="rest-json")
        self._limits: set[asyncio.Timeout] = set()
        self._stopped = False

    @property
    def headers(self) -> dict[str, str]:
        """Headers of all answers."""
        return CORS if self._options.cors else {}

    async def __call__(self, request: web.BaseRequest) -> Answer:
        """Answers a request; errors are answers too."""
        path = request.rel_url.raw_path
        if path == METRICS:
            return Answer(200, [self._model.metrics.page()], "text/plain")
        name, page = self._page(request.method, path)
        errors: list[RequestError] = []
        with self._model.answering("REST", name, errors.append):
            return Answer(200, await self._in_time(page, request))
        (error,) = errors
        if request.transport is None:  # nobody is left to read it
            raise asyncio.CancelledError
        return Answer(_status(error), [error_content(str(error))])

    def stop(self) -> None:
        """Refuses further requests."""
        self._stopped = True

    def end(self) -> None:
        """Refuses the requests that are not answered yet."""
        self._stopped = True
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(0)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _page(self, method, path):
        """The name of a page for the metrics, and a function that answers."""
        if self._stopped:
            return "stopped", _refusing(_stopped())
        if not is_of_api(path):
            code = grpc.StatusCode.NOT_FOUND
            return "not_found", _refusing(RequestError(code, f"Not found: {path}"))
        if method == "OPTIONS" and self._options.cors:
            return "options", _empty
        try:
            target = parse_path(method, path)
        except RequestError as error:
            return "malformed", _refusing(error)
        pages = {
            "status": functools.partial(self._json, status_page),
            "metadata": functools.partial(self._json, metadata_page),
            "predict": self._predict,
        }
        page = pages.get(target.page, _unimplemented)
        return target.page, functools.partial(page, target.spec)

    async def _in_time(self, page, request):
        """The content of a page, unless the server ends, or its client leaves."""
        try:
            async with asyncio.timeout(None) as limit:
                self._limits.add(limit)
                try:
                    return await page(request, limit)
                finally:
                    self._limits.discard(limit)
        except TimeoutError:
            raise _stopped() if self._stopped else self._late() from None
        except asyncio.CancelledError:
            raise RequestError(
                grpc.StatusCode.CANCELLED, "The client has disconnected."
            ) from None

    def _late(self):
        return RequestError(
            grpc.StatusCode.DEADLINE_EXCEEDED,
            f"The request waited for {self._options.timeout:g} seconds.",
        )

    async def _json(self, page, spec, request, limit):
        # Indented: scripts look for `"state": "AVAILABLE"`.
        return [orjson.dumps(page(self._model, spec), option=orjson.OPT_INDENT_2)]

    async def _predict(self, spec, request, limit):
        loop = asyncio.get_running_loop()
        async with self._bodies.reading(request) as body:
            if not limit.expired():
                limit.reschedule(loop.time() + self._options.timeout)
            to_pieces, waiting = await self._submitted(spec, body)
        outputs = await asyncio.wrap_future(waiting)
        return await loop.run_in_executor(
            self._pool, lambda: rest_answers.blocks(to_pieces(outputs))
        )

    async def _submitted(self, spec, body):
        submitting = self._pool.submit(self._submit, spec, body)
        try:
            return await asyncio.wrap_future(submitting)
        except asyncio.CancelledError:
            submitting.add_done_callback(_drop)
            raise

    def _submit(self, spec, body):
        """What writes the answer, and a future of the outputs."""
        content = rest_tensors.parse(body)
        with contextlib.ExitStack() as leased:
            servable = leased.enter_context(self._model.lease(spec))
            signature = servable.signature(content.get("signature_name", ""))
            inputs = rest_tensors.decode(content, signature)
            waiting = self._model.batcher.submit(
                Request(servable, signature, inputs, signature.chosen([]))
            )
            # The version is in use until the outputs are computed or given up.
            keep = leased.pop_all()
            waiting.add_done_callback(lambda _: keep.close())
        is_column = rest_tensors.COLUMNS in content
        to_pieces = rest_answers.column_pieces if is_column else rest_answers.row_pieces
        return to_pieces, waiting


def _drop(submitting):
    """Gives up a request whose client left while it was read."""
    if not submitting.cancelled() and not submitting.exception():
        submitting.result()[1].cancel()


def _refusing(error: RequestError) -> Callable[..., Any]:
    async def refuse(request, limit):
        raise error

    return refuse


async def _empty(request, limit):
    return [b""]


async def _unimplemented(spec, request, limit):
    raise RequestError(
        grpc.StatusCode.UNIMPLEMENTED, "Only predict is implemented. Use predict."
    )


def _stopped():
    return RequestError(grpc.StatusCode.UNAVAILABLE, "The server is shutting down.")


def _status(error):
    if isinstance(error, BodyError):
        return error.http_status
    return _HTTP.get(error.code, 500)
