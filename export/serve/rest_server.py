"""The HTTP server under the REST API."""

import asyncio
import socket
import threading

from aiohttp import HttpVersion11, web

from .rest_api import RestApi
from .rest_connections import SERVER, Connections
from .rest_options import RestOptions

BACKLOG = 128
CHECK = 0.02  # seconds between checks that the last answers are sent
RESERVE = 0.5  # seconds at the end of the grace to tell the rest that they are refused
SETTLE = 0.1  # seconds in which requests that are on their way are still refused
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}


class RestServer:
    """aiohttp with a REST API, in a thread with an event loop of its own.

    Args:
        api: the application.
        host: address to listen on, a name or an IPv4 or IPv6 address.
        port: port to listen on; 0 takes a free one.
        options: limits of time and connections.

    Attributes:
        port: the port it listens on.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, api: RestApi, host: str, port: int, *, options: RestOptions):
        self._api, self._options = api, options
        self._socket = _listening(host, port)
        self.port = self._socket.getsockname()[1]
        self._closed = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stopping: asyncio.Future[float] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)
        self._thread.start()

    def stop(self, grace: float) -> threading.Event:
        """Refuses new requests; those not answered after `grace` seconds get a 503.

        Returns:
            An event that is set when all is closed, at most `RESERVE` seconds after
            the grace.
        """
        if not self._closed.is_set():
            self._loop.call_soon_threadsafe(self._begin_stop, grace)
        return self._closed

    def close(self, grace: float) -> None:
        """Stops, and waits until all is closed."""
        self.stop(grace).wait()

    def _begin_stop(self, grace):
        if not self._stopping.done():
            self._stopping.set_result(grace)

    def _run(self):
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._closed.set()
            self._loop.close()

    async def _serve(self):
        connections = Connections(self._handle, self._options)
        server = await self._loop.create_server(
            connections, sock=self._socket, backlog=BACKLOG
        )
        grace = await self._stopping
        self._api.stop()
        begin = self._loop.time()
        await self._until_idle(connections, begin + max(grace - RESERVE, 0))
        self._api.end()
        await asyncio.sleep(max(begin + SETTLE - self._loop.time(), 0))
        await self._until_idle(connections, self._loop.time() + RESERVE)
        server.close()
        connections.pre_shutdown()
        await connections.shutdown(CHECK)
        self._api.close()

    async def _until_idle(self, connections, end):
        while connections.busy and self._loop.time() < end:
            await asyncio.sleep(CHECK)

    async def _handle(self, request):
        """Sends the answer; gives up a client that does not read it."""
        answer = await self._api(request)
        response = self._response(request, answer)
        try:
            await response.prepare(request)
            blocks = list(answer.content.blocks)
            last = blocks.pop()
            for block in blocks:
                await self._in_time(response.write(block))
            async for block in self._api.more(answer):
                await self._in_time(response.write(last))
                last = block
            await self._in_time(response.write_eof(last))
        except ConnectionError:  # the client has left
            raise asyncio.CancelledError from None
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        return response

    def _response(self, request, answer):
        headers = SERVER | (CORS if self._options.cors else {})
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.content_type = answer.content_type
        if answer.content.more is None:
            response.content_length = sum(map(len, answer.content.blocks))
        elif request.version >= HttpVersion11:
            response.enable_chunked_encoding()
        if self._stopping.done():
            response.force_close()
        return response

    async def _in_time(self, writing):
        async with asyncio.timeout(self._options.body_timeout):
            await writing


def _listening(host, port):
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
            f"Can't listen on --rest-port {port} of --host {host}: {error.strerror}"
        ) from error
