"""Models served over gRPC and REST."""

import contextlib
import time

from .app import App
from .config import Config
from .grpc_server import GrpcServer
from .http_server import HttpServer
from .models import Models


class Server:
    """A running server of models, over gRPC and REST.

    Raises:
        OSError: a port is taken, or a model's directory can't be read.
        ValueError: a model has no version that can be loaded.
    """

    def __init__(self, config: Config):
        with contextlib.ExitStack() as undo:
            self.models = Models(config)
            undo.callback(self.models.close)
            self._rest = HttpServer(App(self.models, config), config)
            undo.callback(self._rest.close, 0)
            self._grpc = GrpcServer(self.models, config)
            undo.pop_all()
        self.port, self.rest_port = self._grpc.port, self._rest.port

    def drain(self, grace: float = 10.0) -> None:
        """Refuses new requests, and answers waiting ones for up to `grace` seconds.

        Those that have no answer then get UNAVAILABLE. gRPC's port stays open: gRPC
        cancels what it receives while it closes one, and clients could not tell why.
        """
        end = time.monotonic() + grace
        rest_ended = self._rest.stop(grace)
        self._grpc.leave()
        self.models.drain(grace)
        self._grpc.wait(end)
        rest_ended.wait()

    def close(self, grace: float = 10.0) -> None:
        """Drains the server, and frees its ports and models."""
        self.drain(grace)
        self._grpc.close()
        self.models.close()
