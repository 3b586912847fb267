"""A connection of the REST server: the end of its client's half, and malformed HTTP."""

import asyncio
import socket

from aiohttp import web

SERVER = {"Server": "elmo-keras"}  # not the versions of Python and aiohttp
TURNS = 20  # of the loop, more than those from one pipelined request to the next
PROBE_SECONDS = 0.05
PROBE = b"HTTP/1.1 100 Continue\r\n\r\n"  # clients pass over it: RFC 9110, 15.2


class Connection(web.RequestHandler):
    """Answers the requests before a half-close; drops them if the client has gone.

    Both look the same until something is sent: the machine of a client that has gone
    resets the connection then.

    Attributes:
        stage: of the request in progress, `"reading"`, `"waiting"` for its answer, or
            `"sending"`.
    """

    __slots__ = ("_ending", "stage")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.stage = "reading"

    def eof_received(self):
        self._ending = asyncio.ensure_future(self._end())
        return True  # asyncio leaves it open

    async def _end(self):
        idle, probe = 0, PROBE
        while (transport := self.transport) is not None and idle < TURNS:
            if self.stage == "reading":
                idle += 1
                await asyncio.sleep(0)
                continue
            idle = 0
            if self.stage == "waiting" and probe:
                transport.write(probe)
                probe = b""
            status = transport.get_extra_info("socket")
            if status.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                transport.abort()
            await asyncio.sleep(PROBE_SECONDS)
        self.force_close()

    def handle_error(self, request, status=500, exc=None, message=None):
        """The answer to malformed HTTP, in the form of all others."""
        error = " ".join(f"Malformed HTTP: {message}".split())[:1000]
        response = web.json_response({"error": error}, status=status, headers=SERVER)
        response.force_close()
        return response
