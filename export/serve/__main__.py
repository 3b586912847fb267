"""Serves a model with the embedded server, over the interface of TensorFlow Serving.

    python -m export.serve OUT_DIR --port 8500 --rest-port 8501

OUT_DIR holds versions, as `python -m export` writes them; the newest answers, and a
newer one takes over when it is there. For laptops, tests and small services:
elsewhere, the image `tensorflow/serving` serves the same directory.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import tensorflow as tf
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)

from export.arguments import port, positive, seconds, whole
from export.server.batching import BatchingOptions
from export.server.grpc_services import ModelService, PredictionService
from export.server.model import Model, ModelOptions
from export.server.rest import RestApi
from export.server.rest_server import RestServer

MEGABYTE = 2**20
THREADS_FOR_STATUS = 8  # of gRPC, besides those that wait for the queue


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """Where a server listens, and what it takes.

    Args:
        host: address to listen on.
        port, rest_port: of gRPC and REST; 0 takes a free one.
        max_message_bytes: of a request.
        rest_timeout: seconds after which a REST request that waits is given up.
    """

    host: str = "127.0.0.1"
    port: int = 8500
    rest_port: int = 8501
    max_message_bytes: int = 64 * MEGABYTE
    rest_timeout: float = 30.0


class Server:
    """A model behind gRPC and REST, listening.

    Args:
        model: see `ModelOptions`.
        options: see there.

    Attributes:
        port, rest_port: that it listens on.

    Raises:
        OSError: a port is taken, or the model's directory can't be read.
        ValueError: there is no version that can be loaded.
    """

    def __init__(self, model: ModelOptions, options: ServerOptions):
        with contextlib.ExitStack() as undo:
            self.model = Model(model)
            undo.callback(self.model.close)
            api = RestApi(self.model, options.rest_timeout)
            self._rest = RestServer(
                api, options.host, options.rest_port, options.max_message_bytes
            )
            undo.callback(self._rest.close, 0)
            self._grpc = _grpc_server(self.model, model.batching, options)
            self.port = _bind(self._grpc, options.host, options.port)
            self._grpc.start()
            undo.pop_all()
        self.rest_port = self._rest.port

    def close(self, grace: float = 10.0) -> None:
        """Takes no more, and answers what waits for at most so many seconds."""
        end = time.monotonic() + grace
        grpc_ended = self._grpc.stop(grace)
        self.model.close(grace)
        grpc_ended.wait(max(end - time.monotonic(), 0))
        self._rest.close(max(end - time.monotonic(), 0))


def _grpc_server(model, batching, options):
    # Each request that waits or is computed holds a thread.
    computed = batching.num_batch_threads * batching.max_batch_size
    threads = batching.max_enqueued_requests + computed + THREADS_FOR_STATUS
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="grpc"),
        maximum_concurrent_rpcs=threads,
        options=[
            ("grpc.max_receive_message_length", options.max_message_bytes),
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
    try:
        return server.add_insecure_port(f"{host}:{port}")
    except RuntimeError as error:
        raise OSError(f"--port {port} of {host} can't be listened on.") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is told to end; returns the exit status."""
    options = parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    # A message that is no protobuf is the client's fault, and told to it.
    logging.getLogger("grpc._common").disabled = True
    tf.get_logger().setLevel(logging.ERROR)
    stop = stopping()
    try:
        server = Server(model_options(options), server_options(options))
    except (ValueError, OSError) as error:
        print(f"export.serve: {error}", file=sys.stderr)
        return 2
    with server.model.versions.lease() as servable:
        version = servable.version
    print(
        f"Serving version {version} of {options.model_name} on {options.host}: gRPC on "
        f"port {server.port}, REST on port {server.rest_port}",
        flush=True,
    )
    stop.wait()
    server.close(options.grace_seconds)
    return 0


def stopping() -> threading.Event:
    """An event that is set by Ctrl-C or SIGTERM; a second one ends at once."""
    stop = threading.Event()

    def handle(number, _):
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
    return stop


def model_options(options: argparse.Namespace) -> ModelOptions:
    """What the command line says of the model."""
    names = [field.name for field in dataclasses.fields(BatchingOptions)]
    return ModelOptions(
        options.directory,
        options.model_name,
        options.threads,
        options.poll_seconds,
        BatchingOptions(**{name: getattr(options, name) for name in names}),
    )


def server_options(options: argparse.Namespace) -> ServerOptions:
    """What the command line says of the server."""
    return ServerOptions(
        options.host,
        options.port,
        options.rest_port,
        options.max_message_mb * MEGABYTE,
        options.rest_timeout,
    )


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        prog="export.serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    server, batching = ServerOptions(), BatchingOptions()
    add = p.add_argument
    add("directory", metavar="OUT_DIR", type=Path, help="holds the versions")
    add("--host", default=server.host, help=f"to listen on (default: {server.host})")
    add("--port", type=port, default=server.port, help="of gRPC; 0: a free one")
    add("--rest-port", type=port, default=server.rest_port, help="0: a free one")
    add("--model-name", default="elmo", help="that requests ask for (default: elmo)")
    add("--threads", type=positive, help="of TensorFlow (default: one a processor)")
    add("--poll-seconds", type=seconds, default=2.0, help="between looks for a version")
    add(
        "--grace-seconds", type=seconds, default=10.0, help="for what waits, at the end"
    )
    add("--max-message-mb", type=positive, default=64, help="of a request (64)")
    add(
        "--rest-timeout", type=seconds, default=server.rest_timeout, help="seconds (30)"
    )
    add = p.add_argument_group("batching, named as in TF Serving's file").add_argument
    add("--max-batch-size", type=positive, default=batching.max_batch_size)
    add("--max-batch-tokens", type=positive, default=batching.max_batch_tokens)
    add("--batch-timeout-micros", type=whole, default=batching.batch_timeout_micros)
    add(
        "--max-enqueued-requests", type=positive, default=batching.max_enqueued_requests
    )
    add("--num-batch-threads", type=positive, default=batching.num_batch_threads)
    return p


if __name__ == "__main__":
    sys.exit(main())
