"""The REST API of TensorFlow Serving."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import grpc
import orjson
from aiohttp import web

from .request_error import RequestError
from .rest_answers import Content
from .rest_bodies import Bodies
from .rest_errors import error_content, http_status, stopped
from .rest_options import RestOptions
from .rest_pages import metadata_page, status_page
from .rest_paths import is_of_api, parse_path
from .rest_predict import RestPredict
from .served_models import ServedModels

METRICS = "/monitoring/prometheus/metrics"


class Answer(NamedTuple):
    """An answer of the API.

    Attributes:
        status: the HTTP status.
        content: the content.
        content_type: of the content.
    """

    status: int
    content: Content
    content_type: str = "application/json"


class RestApi:
    """`:predict`, metadata and status of models, and the page for Prometheus.

    It lives in the event loop of a server. Pages other than `:predict` are answered
    there at once, whatever waits or is computed.

    Args:
        models: the served models.
        options: limits of time.
        max_body_bytes: maximum size of a body.
    """

    def __init__(self, models: ServedModels, options: RestOptions, max_body_bytes: int):
        self._models, self._options = models, options
        self._bodies = Bodies(max_body_bytes, options.body_timeout)
        self._predicting = RestPredict(models, options.timeout)
        self._limits: set[asyncio.Timeout] = set()
        self._stopped = self._ended = False

    async def __call__(self, request: web.BaseRequest) -> Answer:
        """Answers a request; errors are answers too."""
        path = request.rel_url.raw_path
        if path == METRICS:
            return Answer(200, Content([self._models.metrics.page()]), "text/plain")
        page = self._page(request.method, path)
        errors: list[RequestError] = []
        with self._models.answering(
            "REST", page.method, errors.append, model=page.model
        ):
            return Answer(200, await self._in_time(page.answer, request))
        (error,) = errors
        if request.transport is None:  # nobody is left to read it
            raise asyncio.CancelledError
        return Answer(http_status(error), Content([error_content(str(error))]))

    def more(self, answer: Answer) -> AsyncIterator[bytes]:
        """The parts of a large answer that are not written yet."""
        return self._predicting.more(answer.content)

    def stop(self) -> None:
        """Refuses further requests."""
        self._stopped = True

    def end(self) -> None:
        """Refuses the requests that are not answered yet."""
        self._stopped = self._ended = True
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(0)

    def close(self) -> None:
        """Ends the threads."""
        self._predicting.close()

    def _page(self, method, path):
        if self._stopped:
            return _Page("stopped", _refusing(stopped()))
        if not is_of_api(path):
            code = grpc.StatusCode.NOT_FOUND
            return _Page(
                "not_found", _refusing(RequestError(code, f"Not found: {path}"))
            )
        if method == "OPTIONS" and self._options.cors:
            return _Page("options", _empty)
        try:
            target = parse_path(method, path)
        except RequestError as error:
            return _Page("malformed", _refusing(error))
        pages = {
            "status": functools.partial(self._json, page=status_page),
            "metadata": functools.partial(self._json, page=metadata_page),
            "predict": self._predict,
        }
        page = functools.partial(pages.get(target.page, _unimplemented), target.spec)
        return _Page(target.page, page, target.spec.name)

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
            raise (stopped() if self._ended else self._late()) from None
        except asyncio.CancelledError:
            raise RequestError(
                grpc.StatusCode.CANCELLED, "The client has disconnected."
            ) from None

    def _late(self):
        return RequestError(
            grpc.StatusCode.DEADLINE_EXCEEDED,
            f"The request waited for {self._options.timeout:g} seconds.",
        )

    async def _json(self, spec, request, limit, *, page):
        # Indented: scripts look for `"state": "AVAILABLE"`.
        found = page(self._models, spec)
        return Content([orjson.dumps(found, option=orjson.OPT_INDENT_2)])

    async def _predict(self, spec, request, limit):
        async with self._bodies.reading(request) as body:
            if not limit.expired():
                now = asyncio.get_running_loop().time()
                limit.reschedule(now + self._options.timeout)
            submitted = await self._predicting.submit(spec, body)
        return await self._predicting.answer(submitted)


class _Page(NamedTuple):
    """A page: its name and model for the metrics, and what answers."""

    method: str
    answer: Callable[[web.BaseRequest, asyncio.Timeout], Awaitable[Content]]
    model: str = ""


def _refusing(error: RequestError) -> Callable[..., Any]:
    async def refuse(request, limit):
        raise error

    return refuse


async def _empty(request, limit):
    return Content([b""])


async def _unimplemented(spec, request, limit):
    raise RequestError(
        grpc.StatusCode.UNIMPLEMENTED, "Only predict is implemented. Use predict."
    )
