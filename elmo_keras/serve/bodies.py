"""The bodies of HTTP requests: their size, the time they take, and their memory."""

import asyncio
import contextlib
import zlib
from collections.abc import AsyncIterator

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from elmo_keras.serve.errors import invalid, too_late, too_much

PACKED = "gzip", "x-gzip", "deflate"
GZIP_OR_ZLIB = 47  # of `zlib`: found from the header
PIECE = 2**20  # bytes that are unpacked at once
HELD_BODIES = 4  # bodies of the maximum size that are kept at the same time


class Bodies:
    """Reads bodies within limits of size, also unpacked from gzip, and of time."""

    def __init__(self, max_bytes: int, seconds: float):
        self._max_bytes, self._seconds = max_bytes, seconds
        self._held = 0

    @contextlib.asynccontextmanager
    async def reading(self, request: web.BaseRequest) -> AsyncIterator[bytes]:
        """The body of a request, which counts as kept within the context."""
        body, encoding = bytearray(), request.headers.get("Content-Encoding", "")
        decoder = zlib.decompressobj(GZIP_OR_ZLIB) if encoding in PACKED else None
        try:
            if (request.content_length or 0) > self._max_bytes:
                raise self._too_large()
            asks_first = request.headers.get("Expect", "").lower() == "100-continue"
            if asks_first and request.transport is not None:
                request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            async with self._in_time(body):
                async for chunk in request.content.iter_any():
                    for piece in _unpacked(chunk, decoder):
                        self._take(piece, body)
                if decoder and (decoder.unused_data or not decoder.eof):
                    raise zlib.error("It ends too early, or too late.")
            yield bytes(body)
        finally:
            self._held -= len(body)

    def _take(self, piece, body):
        body += piece
        self._held += len(piece)
        if len(body) > self._max_bytes:
            raise self._too_large()
        if self._held > HELD_BODIES * self._max_bytes:
            raise too_much(
                "The server holds the bodies of other requests. Try again later."
            )

    @contextlib.asynccontextmanager
    async def _in_time(self, body):
        try:
            async with asyncio.timeout(self._seconds):
                yield
        except TimeoutError:
            raise too_late(
                f"The body should be complete after {self._seconds:g} seconds. "
                f"Received: {len(body)} bytes",
                http_status=408,
            ) from None
        except (HttpProcessingError, web.RequestPayloadError, zlib.error):
            raise invalid(
                "The body should be as its headers say: complete, plain or in gzip. "
                f"Received: {len(body)} bytes"
            ) from None

    def _too_large(self):
        return too_much(
            f"A body should have at most {self._max_bytes} bytes.", http_status=413
        )


def _unpacked(chunk, decoder):
    if decoder is None:
        yield chunk
        return
    while chunk and not decoder.eof:
        yield decoder.decompress(chunk, PIECE)
        chunk = decoder.unconsumed_tail
