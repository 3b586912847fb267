"""Models served over gRPC and REST."""

import contextlib
import time

from elmo_keras.serve.app import App
from elmo_keras.serve.config import Config
from elmo_keras.serve.grpc_server import GrpcServer
from elmo_keras.serve.http_server import HttpServer, listening
from elmo_keras.serve.models import Models


class Server:
    """A running server of models; an OSError or a ValueError says why there is none."""

    def __init__(self, config: Config):
        with contextlib.ExitStack() as taken:  # before the models are loaded
            for option in "port", "rest_port":
                name = f"--{option.replace('_', '-')}"
                port = getattr(config, option)
                taken.enter_context(listening(config.host, port, name))
        with contextlib.ExitStack() as undo:
            self.models = Models(config)
            undo.callback(self.models.close)
            self._rest = HttpServer(App(self.models, config), config)
            undo.callback(lambda: self._rest.stop(0).wait())
            self._grpc = GrpcServer(self.models, config)
            undo.pop_all()
        self.port, self.rest_port = self._grpc.port, self._rest.port

    def drain(self, grace: float = 10.0) -> None:
        """Refuses new requests; waiting ones get UNAVAILABLE after `grace` seconds.

        gRPC's port stays open: requests get CANCELLED while gRPC closes one.
        """
        end = time.monotonic() + grace
        rest_ended = self._rest.stop(grace)
        self._grpc.leave()
        self.models.drain(grace)
        self._grpc.wait(end)
        rest_ended.wait()

    def close(self, grace: float = 10.0) -> None:
        self.drain(grace)
        self._grpc.close()
        self.models.close()
