"""Models served over gRPC and REST."""

import contextlib
from collections.abc import Sequence

from elmo_keras.serve.config import Config, ModelConfig
from elmo_keras.serve.grpc_server import GrpcServer
from elmo_keras.serve.models import Models
from elmo_keras.serve.rest import RestServer, listen


class Server:
    """A running server of models; an OSError or a ValueError says why there is none."""

    def __init__(self, models: Sequence[ModelConfig], config: Config):
        # Before the models are loaded.
        listen(config.host, config.port, "--port").close()
        listen(config.host, config.rest_port, "--rest-port").close()
        with contextlib.ExitStack() as undo:
            self.models = Models(models, config)
            undo.callback(self.models.close)
            self._rest = RestServer(self.models, config)
            undo.callback(self._rest.close)
            self._grpc = GrpcServer(self.models, config)
            undo.pop_all()
        self.port, self.rest_port = self._grpc.port, self._rest.port

    def drain(self, grace: float) -> None:
        """Refuses new requests; waiting ones get UNAVAILABLE after `grace` seconds.

        gRPC's port stays open: requests get CANCELLED while gRPC closes one.
        """
        self._grpc.leave()
        self.models.drain(grace)
        self._rest.close()

    def close(self) -> None:
        """Drains the server, and ends what is still computed."""
        self.drain(0)
        self._grpc.close()
        self.models.close()
