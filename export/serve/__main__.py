"""Serves a model with the embedded server, through TensorFlow Serving's interface.

    python -m export.serve OUT_DIR --port 8500 --rest-port 8501

OUT_DIR holds versions written by `python -m export`. The newest one answers, and the
server switches to a newer one when it appears. It is for laptops, tests and small
services; elsewhere, the image `tensorflow/serving` serves the same directory.
"""

import argparse
import dataclasses
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from elmo_keras.cli.argument_types import non_negative, port, positive, seconds
from elmo_keras.cli.command import command_parser, run_command
from elmo_keras.cli.stopping import stopping

from .batching import BatchingOptions
from .rest_options import RestOptions
from .served_model import ModelOptions
from .server import MEGABYTE, Server, ServerOptions

PROGRAM = __package__  # `export.serve`, or `elmo_keras.export.serve` when installed


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until Ctrl-C or SIGTERM; returns the exit status."""
    options = parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    # Malformed messages are the client's errors, and the client gets a status.
    logging.getLogger("grpc._common").disabled = True
    tf.get_logger().setLevel(logging.ERROR)
    return run_command(PROGRAM, lambda: serve(options))


def serve(options: argparse.Namespace) -> None:
    """Serves until Ctrl-C or SIGTERM, then answers the waiting requests."""
    with stopping() as stop:
        server = Server(model_options(options), server_options(options))
        with server.model.versions.lease() as servable:
            version = servable.version
        print(
            f"Serving version {version} of {options.model_name} on {options.host}: "
            f"gRPC on port {server.port}, REST on port {server.rest_port}",
            flush=True,
        )
        stop.wait()
        server.close(options.grace_seconds)


def model_options(options: argparse.Namespace) -> ModelOptions:
    """The options of the model."""
    names = [field.name for field in dataclasses.fields(BatchingOptions)]
    return ModelOptions(
        directory=options.directory,
        name=options.model_name,
        threads=options.threads,
        poll_seconds=options.poll_seconds,
        batching=BatchingOptions(**{name: getattr(options, name) for name in names}),
    )


def server_options(options: argparse.Namespace) -> ServerOptions:
    """The options of the server."""
    return ServerOptions(
        host=options.host,
        port=options.port,
        rest_port=options.rest_port,
        max_message_bytes=options.max_message_mb * MEGABYTE,
        rest=rest_options(options),
    )


def rest_options(options: argparse.Namespace) -> RestOptions:
    """The limits of the REST server."""
    names = [field.name for field in dataclasses.fields(RestOptions)]
    return RestOptions(**{name: getattr(options, f"rest_{name}") for name in names})


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("directory", metavar="OUT_DIR", type=Path, help="folder of the versions")
    add("--model-name", default="elmo", help="name in requests (default: elmo)")
    add(
        "--threads",
        type=positive(int),
        help="threads of TensorFlow (default: one for each processor)",
    )
    add(
        "--poll-seconds",
        type=seconds,
        default=2.0,
        help="time between checks for a newer version (default: 2)",
    )
    _add_server(p.add_argument_group("server").add_argument)
    _add_rest(p.add_argument_group("REST").add_argument)
    group = p.add_argument_group("batching, named as in TensorFlow Serving's file")
    _add_batching(group.add_argument)
    return p


def _add_server(add):
    server = ServerOptions()
    add("--host", default=server.host, help=f"address (default: {server.host})")
    add("--port", type=port, default=server.port, help="of gRPC; 0 takes a free one")
    add(
        "--grace-seconds",
        type=seconds,
        default=10.0,
        help="time to answer waiting requests at the end (default: 10)",
    )
    add(
        "--max-message-mb",
        type=positive(int),
        default=server.max_message_bytes // MEGABYTE,
        help="maximum size of a request (default: 64)",
    )


def _add_rest(add):
    rest = RestOptions()
    port_default = ServerOptions().rest_port
    add("--rest-port", type=port, default=port_default, help="0 takes a free one")
    times = {
        "timeout": "for an answer, from the end of the request",
        "header-timeout": "for headers, from the connection or the last answer",
        "body-timeout": "for a request's body, and for reading a part of the answer",
    }
    for name, text in times.items():
        default = getattr(rest, name.replace("-", "_"))
        text = f"seconds {text} (default: {default:g})"
        add(f"--rest-{name}", type=positive(float), default=default, help=text)
    add(
        "--rest-max-connections",
        type=positive(int),
        default=rest.max_connections,
        help="a further one takes the place of an idle one (default: 512)",
    )
    add("--rest-cors", action="store_true", help="answers any page of a browser")


def _add_batching(add):
    batching = BatchingOptions()
    for name, default in dataclasses.asdict(batching).items():
        kind = non_negative if name == "batch_timeout_micros" else positive
        add(f"--{name.replace('_', '-')}", type=kind(int), default=default)


if __name__ == "__main__":
    sys.exit(main())
