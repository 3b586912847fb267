"""The gRPC server with TensorFlow Serving's services and `grpc.health.v1`."""

import concurrent.futures
import time

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)

from .calls_under_way import CallsUnderWay
from .grpc_services import ModelService, PredictionService
from .served_models import ServedModels

STATUS_THREADS = 8  # in addition to those of requests that wait or are computed
SENDING_SECONDS = 1.0  # for errors, after the last answer that the grace allows
SERVICES = (
    "",
    "tensorflow.serving.PredictionService",
    "tensorflow.serving.ModelService",
)


class GrpcServer:
    """A running gRPC server.

    Args:
        models: the served models.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
        max_message_bytes: maximum size of a request.
        tensor_content: see `PredictionService`.
        credentials: of TLS, or None for no encryption.

    Attributes:
        port: the port it listens on.

    Raises:
        OSError: the port is taken.
    """

    def __init__(
        self,
        models: ServedModels,
        host: str,
        port: int,
        *,
        max_message_bytes: int,
        tensor_content: bool = False,
        credentials: grpc.ServerCredentials | None = None,
    ):
        self._calls = CallsUnderWay()
        self._health = health.HealthServicer()
        self._server = _server(models, max_message_bytes)
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            PredictionService(models, self._calls, tensor_content=tensor_content),
            self._server,
        )
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(
            ModelService(models), self._server
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self.port = _bind(self._server, host, port, credentials=credentials)
        for service in SERVICES:
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        self._server.start()

    def leave(self) -> None:
        """Tells probes that this server is about to end; it still answers."""
        self._health.enter_graceful_shutdown()

    def wait(self, end: float) -> None:
        """Waits until all answers are sent, at most to the time `end`.

        Args:
            end: a time of `time.monotonic`; if it is past, errors still are sent.
        """
        self._calls.wait(max(end - time.monotonic(), SENDING_SECONDS))

    def close(self) -> None:
        """Closes the port; calls under way are cancelled."""
        self._server.stop(0).wait()


def _server(models, max_message_bytes):
    # A request holds a thread while it waits or is computed.
    limits = models.batcher.options
    computed = limits.num_batch_threads * limits.max_batch_size + 1  # a long one
    threads = limits.max_enqueued_requests + computed + STATUS_THREADS
    return grpc.server(
        concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="grpc"),
        maximum_concurrent_rpcs=threads,
        options=[
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),  # a taken port is an error
        ],
    )


def _bind(server, host, port, *, credentials):
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"  # IPv6 has colons
    try:
        if credentials is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise OSError(f"Can't listen on --port {port} of {host}.") from error
