"""A model served over gRPC and REST."""

import concurrent.futures
import contextlib
import dataclasses
import time

import grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)

from .grpc_services import ModelService, PredictionService
from .rest_api import RestApi
from .rest_options import RestOptions
from .rest_server import RestServer
from .served_model import ModelOptions, ServedModel

MEGABYTE = 2**20
STATUS_THREADS = 8  # gRPC threads in addition to those of queued requests


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """Addresses and limits of a server.

    Args:
        host: address to listen on.
        port, rest_port: ports of gRPC and REST; 0 takes a free one.
        max_message_bytes: maximum size of a request.
        rest: limits of the REST server.
    """

    host: str = "127.0.0.1"
    port: int = 8500
    rest_port: int = 8501
    max_message_bytes: int = 64 * MEGABYTE
    rest: RestOptions = RestOptions()


class Server:
    """A running server of a model, over gRPC and REST.

    Args:
        model: the model and its limits.
        options: addresses and limits of the server.

    Attributes:
        port, rest_port: the ports it listens on.

    Raises:
        OSError: a port is taken, or the model's directory can't be read.
        ValueError: no version can be loaded.
    """

    def __init__(self, model: ModelOptions, options: ServerOptions):
        with contextlib.ExitStack() as undo:
            self.model = ServedModel(model)
            undo.callback(self.model.close)
            self._rest = RestServer(
                RestApi(self.model, options.rest, options.max_message_bytes),
                options.host,
                options.rest_port,
                options=options.rest,
            )
            undo.callback(self._rest.close, 0)
            self._grpc = _grpc_server(self.model, options.max_message_bytes)
            self.port = _bind(self._grpc, options.host, options.port)
            self._grpc.start()
            undo.pop_all()
        self.rest_port = self._rest.port

    def close(self, grace: float = 10.0) -> None:
        """Refuses new requests, and answers waiting ones for up to `grace` seconds."""
        end = time.monotonic() + grace
        rest_ended = self._rest.stop(grace)
        grpc_ended = self._grpc.stop(grace)
        self.model.close(grace)
        grpc_ended.wait(max(end - time.monotonic(), 0))
        rest_ended.wait()


def _grpc_server(model, max_message_bytes):
    # A request holds a thread while it waits or is computed.
    limits = model.batcher.options
    computed = limits.num_batch_threads * limits.max_batch_size
    threads = limits.max_enqueued_requests + computed + STATUS_THREADS
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="grpc"),
        maximum_concurrent_rpcs=threads,
        options=[
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),  # a taken port is an error
        ],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        PredictionService(model), server
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(
        ModelService(model), server
    )
    return server


def _bind(server, host, port):
    address = f"[{host}]" if ":" in host else host  # IPv6
    try:
        return server.add_insecure_port(f"{address}:{port}")
    except RuntimeError as error:
        raise OSError(f"Can't listen on --port {port} of {host}.") from error
