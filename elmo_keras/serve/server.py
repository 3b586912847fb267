"""Models served over gRPC and REST."""

import contextlib
import time

from elmo_keras.serve.config import Config, listen
from elmo_keras.serve.grpc_server import GrpcServer
from elmo_keras.serve.models import Models
from elmo_keras.serve.rest import RestServer


class Server:
    """A running server of models; an OSError or a ValueError says why there is none."""

    def __init__(self, config: Config):
        # Before the models are loaded.
        listen(config.host, config.port, "--port").close()
        listen(config.host, config.rest_port, "--rest-port").close()
        with contextlib.ExitStack() as undo:
            self.models = Models(config)
            undo.callback(self.models.close)
            self._rest = RestServer(self.models, config)
            undo.callback(self._rest.close)
            self._grpc = GrpcServer(self.models, config)
            undo.pop_all()
        self.port, self.rest_port = self._grpc.port, self._rest.port

    def drain(self, grace: float = 10.0) -> None:
        """Refuses new requests; waiting ones get UNAVAILABLE after `grace` seconds.

        gRPC's port stays open: requests get CANCELLED while gRPC closes one.
        """
        end = time.monotonic() + grace
        self._grpc.leave()
        self.models.drain(grace)
        self._rest.close()
        self._grpc.wait(end)

    def close(self, grace: float = 10.0) -> None:
        self.drain(grace)
        self._grpc.close()
        self.models.close()
