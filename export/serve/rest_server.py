"""The HTTP server under the REST API."""

import logging
import socket
import threading
import time

import waitress
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.utilities import RequestEntityTooLarge

from .rest_api import RestApi

THREADS = 64
CONNECTIONS = 256
CLOSE_CHECK = 0.02  # seconds between checks that the last answers are sent
CLOSE_TIMEOUT = 1  # seconds for the sockets and the threads to close
MAX_DISCARDED_BYTES = 2**30


class RestServer:
    """Waitress with a REST API, in a thread.

    Args:
        api: the application.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
        max_message_bytes: maximum size of a request's body.

    Attributes:
        port: the port it listens on.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, api: RestApi, host: str, port: int, *, max_message_bytes: int):
        self._socket = socket.create_server((host, port))
        self.port = self._socket.getsockname()[1]
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._server = waitress.create_server(
            api,
            sockets=[self._socket],
            threads=THREADS,
            connection_limit=CONNECTIONS,
            max_request_body_size=max_message_bytes,
            channel_request_lookahead=1,  # to notice clients that leave
            ident=None,
        )
        self._server.channel_class = _Channel
        self._thread = threading.Thread(
            target=self._server.run, name="rest", daemon=True
        )
        self._thread.start()
        self._closed = threading.Event()

    def close(self, grace: float) -> None:
        """Closes after all answers are sent, or after `grace` seconds."""
        end = time.monotonic() + grace
        while self._busy() and time.monotonic() < end:
            time.sleep(CLOSE_CHECK)
        if not self._closed.is_set():
            self._server.trigger.pull_trigger(self._close_sockets)
            self._closed.wait(CLOSE_TIMEOUT)
        self._server.task_dispatcher.shutdown(timeout=CLOSE_TIMEOUT)

    def _close_sockets(self):
        # In the server's thread: elsewhere it could be selecting among them.
        self._server.close()
        self._closed.set()

    def _busy(self):
        channels = list(self._server.active_channels.values())
        return any(c.requests or c.total_outbufs_len for c in channels)


class _Parser(HTTPRequestParser):
    """Reads a body to its end before refusing it as too large.

    Waitress would answer and close at once. A client that is still sending then gets
    a reset connection instead of the answer (RFC 9112, section 9.6). The content is
    discarded; after `MAX_DISCARDED_BYTES` the connection is closed anyway.
    """

    def received(self, data):
        if self.error is None:
            consumed = super().received(data)
        else:
            consumed = self.body_rcv.received(data)
            self.body_bytes_received += consumed
        if isinstance(self.error, RequestEntityTooLarge):
            self.body_rcv.buf.close()
            self.body_rcv.buf = _NoBuffer()
            self.completed = (
                self.expect_continue  # the client waits before it sends the body
                or self.body_rcv.completed
                or self.body_rcv.error is not None
                or self.body_bytes_received > MAX_DISCARDED_BYTES
            )
            self.expect_continue = False
        return consumed


class _NoBuffer:
    """Takes the place of a buffer and keeps nothing."""

    def append(self, data):
        pass

    def close(self):
        pass


class _Channel(HTTPChannel):
    parser_class = _Parser
