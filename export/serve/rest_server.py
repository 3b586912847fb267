"""The HTTP server under the REST API."""

import logging
import socket
import threading
import time

import waitress

from export.server.rest import RestApi

THREADS = 64
CONNECTIONS = 256
LOOK_EVERY = 0.02  # seconds, while the last answers go out


class RestServer:
    """Waitress with a REST API, in a thread.

    Args:
        api: the application.
        host, port: to listen on; port 0 takes a free one.
        max_message_bytes: of a request's body.

    Attributes:
        port: that it listens on.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, api: RestApi, host: str, port: int, max_message_bytes: int):
        self._socket = socket.create_server((host, port))
        self.port = self._socket.getsockname()[1]
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._server = waitress.create_server(
            api,
            sockets=[self._socket],
            threads=THREADS,
            connection_limit=CONNECTIONS,
            max_request_body_size=max_message_bytes,
            channel_request_lookahead=1,  # so that it notices clients that leave
            ident=None,
        )
        self._thread = threading.Thread(
            target=self._server.run, name="rest", daemon=True
        )
        self._thread.start()

    def close(self, grace: float) -> None:
        """Ends when all answers are sent, or after so many seconds."""
        end = time.monotonic() + grace
        while self._busy() and time.monotonic() < end:
            time.sleep(LOOK_EVERY)
        self._server.close()
        self._server.task_dispatcher.shutdown(timeout=1)

    def _busy(self):
        channels = list(self._server.active_channels.values())
        return any(c.requests or c.total_outbufs_len for c in channels)
