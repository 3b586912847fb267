"""Models served over gRPC and REST."""

import contextlib
import dataclasses
import time

import grpc

from .grpc_server import GrpcServer
from .request_size import MEGABYTE
from .rest_api import RestApi
from .rest_options import RestOptions
from .rest_server import RestServer
from .served_models import ModelsOptions, ServedModels


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """Addresses and limits of a server.

    Args:
        host: address to listen on.
        port, rest_port: ports of gRPC and REST; 0 takes a free one.
        max_message_bytes: maximum size of a request.
        rest: limits of the REST server.
        tensor_content: whether answers over gRPC hold `tensor_content`.
        credentials: of TLS over gRPC, or None for no encryption.
    """

    host: str = "127.0.0.1"
    port: int = 8500
    rest_port: int = 8501
    max_message_bytes: int = 64 * MEGABYTE
    rest: RestOptions = RestOptions()
    tensor_content: bool = False
    credentials: grpc.ServerCredentials | None = None


class Server:
    """A running server of models, over gRPC and REST.

    Args:
        models: the models and their limits.
        options: addresses and limits of the server.

    Attributes:
        models: the `ServedModels`.
        port, rest_port: the ports it listens on.

    Raises:
        OSError: a port is taken, or a model's directory can't be read.
        ValueError: a model has no version that can be loaded.
    """

    def __init__(self, models: ModelsOptions, options: ServerOptions):
        with contextlib.ExitStack() as undo:
            self.models = ServedModels(models)
            undo.callback(self.models.close, 0)
            self._rest = RestServer(
                RestApi(self.models, options.rest, options.max_message_bytes),
                options.host,
                options.rest_port,
                options=options.rest,
            )
            undo.callback(self._rest.close, 0)
            self._grpc = GrpcServer(
                self.models,
                options.host,
                options.port,
                max_message_bytes=options.max_message_bytes,
                tensor_content=options.tensor_content,
                credentials=options.credentials,
            )
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
        self.models.close(0)
