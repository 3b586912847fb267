"""The connections of the REST server."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import web

from .request_error import MAX_MESSAGE_LENGTH
from .rest_errors import error_content
from .rest_options import RestOptions

# Seconds in which the rest of a refused body is read and discarded: a client that is
# still sending would get a reset connection instead of the answer (RFC 9112, 9.6).
LINGER = 10.0
SERVER = {"Server": "elmo-keras"}  # in place of the versions of Python and aiohttp

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Connections(web.Server):
    """aiohttp's server, with a bound on connections and with errors as JSON.

    aiohttp closes a connection that sends no complete headers in time, and cancels
    the handler of a request whose client leaves.

    Args:
        handler: answers a request.
        options: limits of time and connections.
    """

    def __init__(self, handler: Handler, options: RestOptions):
        super().__init__(self._handle, handler_cancellation=True)
        self._handler, self._options = handler, options
        self._requests: dict[web.RequestHandler, web.BaseRequest] = {}

    @property
    def busy(self) -> int:
        """The number of connections with a request that is not answered."""
        return len(self._requests)

    def __call__(self) -> web.RequestHandler:
        """The protocol of a new connection, for `asyncio`."""
        return _Connection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self._options.header_timeout,
            lingering_time=min(LINGER, self._options.body_timeout),
            access_log=None,
        )

    def connection_made(self, handler, transport) -> None:
        """Closes the oldest connection that has no complete request if too many."""
        super().connection_made(handler, transport)
        transport.set_write_buffer_limits(0)  # to wait until a client has read
        alive = [c for c in self.connections if c.transport is not None]
        if len(alive) > self._options.max_connections:
            next(filter(self._is_waiting, alive), handler).force_close()

    def _is_waiting(self, connection):
        """Whether the server waits for the client, not the client for the server."""
        request = self._requests.get(connection)
        return request is None or not request.content.is_eof()

    async def _handle(self, request):
        connection = request.protocol
        self._requests[connection] = request
        try:
            return await self._handler(request)
        finally:
            del self._requests[connection]
            # The last one that was answered is the last one to be closed.
            if connection in self._connections:
                self._connections[connection] = self._connections.pop(connection)


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
            body=error_content(message),
            content_type="application/json",
            headers=SERVER,
        )
        response.force_close()
        return response
