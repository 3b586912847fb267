"""The connections of the REST server."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import web

from .request_error import MAX_MESSAGE_LENGTH
from .rest_options import RestOptions

# Seconds in which the rest of a refused body is read and discarded: a client that is
# still sending would get a reset connection instead of the answer (RFC 9112, 9.6).
LINGER = 10.0
SERVER = {"Server": "elmo-keras"}  # in place of the versions of Python and aiohttp

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def error_content(message: str) -> bytes:
    """The content of an answer that is an error."""
    return json.dumps({"error": message}).encode()


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
        self._busy: set[web.RequestHandler] = set()

    @property
    def busy(self) -> int:
        """The number of connections with a request that is not answered."""
        return len(self._busy)

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
        """Closes the oldest idle connection if there are too many."""
        super().connection_made(handler, transport)
        transport.set_write_buffer_limits(0)  # to wait until a client has read
        alive = [c for c in self.connections if c.transport is not None]
        if len(alive) > self._options.max_connections:
            idle = (c for c in alive if c not in self._busy)
            next(idle, handler).force_close()

    async def _handle(self, request):
        connection = request.protocol
        self._busy.add(connection)
        try:
            return await self._handler(request)
        finally:
            self._busy.discard(connection)
            # The longest idle one is the first to be closed.
            if connection in self._connections:
                self._connections[connection] = self._connections.pop(connection)


class _Connection(web.RequestHandler):
    def handle_error(self, request, status=500, exc=None, message=None):
        """The answer to what is no HTTP, and to errors of a handler."""
        if status >= 500:
            self.log_exception("A REST request failed.", exc_info=exc)
            message = HTTPStatus(status).phrase
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
