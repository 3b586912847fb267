"""The HTTP server under the REST API: its connections, their errors, its end."""

import asyncio
import contextlib
import math
import socket
import threading
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import web

from elmo_keras.serve.app import HEADERS, App
from elmo_keras.serve.config import Config
from elmo_keras.serve.errors import MAX_MESSAGE_LENGTH, as_json

BACKLOG = 128
CHECK = 0.02  # seconds between checks that the last answers are sent
RESERVE = 0.5  # seconds at the end of the grace to tell the rest that they are refused
SETTLE = 0.1  # seconds in which requests that are on their way are still refused
# Seconds in which the rest of a refused body is read and discarded: a client that is
# still sending would get a reset connection instead of the answer (RFC 9112, 9.6).
LINGER = 10.0


class HttpServer:
    """aiohttp with a REST API, in a thread with an event loop of its own."""

    def __init__(self, app: App, config: Config):
        self._app, self._config = app, config
        self._socket = listening(config.host, config.rest_port, "--rest-port")
        self.port = self._socket.getsockname()[1]
        self._closed = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stopping, self._grace = asyncio.Event(), math.inf
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)
        self._thread.start()

    def stop(self, grace: float) -> threading.Event:
        self._grace = min(grace, self._grace)
        with contextlib.suppress(RuntimeError):  # it is closed already
            self._loop.call_soon_threadsafe(self._stopping.set)
        return self._closed

    def _run(self):
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._closed.set()
            self._loop.close()

    async def _serve(self):
        connections = Connections(self._app, self._config)
        server = await self._loop.create_server(
            connections, sock=self._socket, backlog=BACKLOG
        )
        await self._stopping.wait()
        self._app.stop()
        begin = self._loop.time()
        await connections.idle(begin + max(self._grace - RESERVE, 0))
        self._app.end()
        await asyncio.sleep(max(begin + SETTLE - self._loop.time(), 0))
        await connections.idle(self._loop.time() + RESERVE)
        server.close()
        connections.pre_shutdown()
        await connections.shutdown(CHECK)
        self._app.close()


def listening(host: str, port: int, option: str) -> socket.socket:
    """A socket on an address; of a name's addresses, one of IPv4 if there is one."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, _, _, _, address = min(found, key=lambda a: a[0] != socket.AF_INET)
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(
            address, family=family, backlog=BACKLOG, dualstack_ipv6=both
        )
    except OSError as error:
        raise OSError(
            f"Can't listen on {option} {port} of --host {host}: {error.strerror}. Give "
            "another, or end the program that listens there."
        ) from error


class Connections(web.Server):
    """aiohttp's server, with a bound on connections and with errors as JSON.

    aiohttp itself limits the time for headers, and cancels handlers of clients that left.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        config: Config,
    ):
        super().__init__(self._handle, handler_cancellation=True)
        self._handler, self._config = handler, config
        self._requests: dict[web.RequestHandler, web.BaseRequest] = {}
        self._by_age: list[web.RequestHandler] = []

    async def idle(self, end: float) -> None:
        """Waits until all requests are answered, at most to `end` of the loop's time."""
        while self._requests and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(CHECK)

    def __call__(self) -> web.RequestHandler:
        return _Connection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self._config.rest_header_timeout,
            lingering_time=min(LINGER, self._config.rest_body_timeout),
            access_log=None,
            # `Bodies` unpacks: aiohttp doesn't notice that the end of gzip is missing.
            auto_decompress=False,
        )

    def connection_made(self, handler, transport) -> None:
        """Closes the oldest connection that has no complete request if too many."""
        super().connection_made(handler, transport)
        transport.set_write_buffer_limits(0)  # to wait until a client has read
        self._by_age.append(handler)
        alive = [c for c in self._by_age if c.transport is not None]
        if len(alive) > self._config.rest_max_connections:
            next(filter(self._is_waiting, alive), handler).force_close()

    def connection_lost(self, handler, exc=None) -> None:
        super().connection_lost(handler, exc)
        self._by_age.remove(handler)

    def _is_waiting(self, connection):
        request = self._requests.get(connection)
        return request is None or not request.content.is_eof()

    async def _handle(self, request):
        connection = request.protocol
        self._requests[connection] = request
        try:
            return await self._handler(request)
        finally:
            del self._requests[connection]
            if connection in self._by_age:  # it is as young as its last answer
                self._by_age.remove(connection)
                self._by_age.append(connection)


class _Connection(web.RequestHandler):
    def log_exception(self, *args, exc_info=None, **kwargs):
        """Leaves out the bodies that clients damaged: they got an answer."""
        if not isinstance(exc_info, web.RequestPayloadError):
            super().log_exception(*args, exc_info=exc_info, **kwargs)

    def handle_error(self, request, status=500, exc=None, message=None):
        """The answer to what is no HTTP, and to errors of a handler."""
        if status >= 500:
            self.log_exception("A REST request failed.", exc_info=exc)
            message = HTTPStatus(status).phrase
            if request.writer.output_size > 0:
                raise ConnectionError("A part of an answer is sent already.")
        else:
            reason = (message or HTTPStatus(status).phrase).strip().splitlines()[0]
            message = f"Not a request of HTTP: {reason}"[:MAX_MESSAGE_LENGTH]
        response = web.Response(
            status=status,
            body=as_json(message),
            content_type="application/json",
            headers=HEADERS,
        )
        response.force_close()
        return response
