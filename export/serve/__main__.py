"""Serves a model with the embedded server, through TensorFlow Serving's interface.

    python -m export.serve OUT_DIR --port 8500 --rest-port 8501
    python -m export.serve --model-config-file models.config

OUT_DIR holds versions written by `python -m export`. The newest one answers, and the
server switches to a newer one when it appears. It is for laptops, tests and small
services; elsewhere, the image `tensorflow/serving` serves the same directory.
"""

import argparse
import dataclasses
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from elmo_keras.cli.argument_types import non_negative, port, positive, seconds
from elmo_keras.cli.command import INTERRUPTED, command_parser, fail, run_command
from elmo_keras.cli.stopping import stopping

from ..version_paths import MODEL_NAME
from .batching import BatchingOptions
from .model_config import ModelConfig, read_model_configs
from .request_size import MEGABYTE, SizeLimits
from .rest_options import RestOptions
from .served_models import ModelsOptions
from .server import Server, ServerOptions
from .ssl_config import read_ssl_config

CLOSING_SECONDS = 0.1  # for the last answers to reach their clients
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
    """Serves until Ctrl-C or SIGTERM, then answers the waiting requests and exits."""
    models = models_options(options)
    with stopping() as stop:
        server = Server(models, server_options(options))
        try:
            announce(server, [model.name for model in models.models], options.host)
            stop.wait()
            server.drain(options.grace_seconds)
            status = 0
        except KeyboardInterrupt:  # Ctrl-C once more
            status = fail(PROGRAM, INTERRUPTED, "Interrupted.")
    leave(status)


def announce(server: Server, names: Sequence[str], host: str) -> None:
    """Prints a line for each model."""
    for name in names:
        with server.models[name].versions.lease() as servable:
            print(
                f"Serving version {servable.version} of {name} on {host}: gRPC on port "
                f"{server.port}, REST on port {server.rest_port}",
                flush=True,
            )


def leave(status: int) -> None:
    """Ends the process, also while a request is computed that nobody waits for.

    Without closing ports: clients whose requests arrive now get UNAVAILABLE.
    """
    time.sleep(CLOSING_SECONDS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def models_options(options: argparse.Namespace) -> ModelsOptions:
    """The models and their limits.

    Raises:
        OSError, ValueError: the file of the models is missing or wrong.
    """
    if options.model_config_file:
        models = read_model_configs(options.model_config_file)
    else:
        models = [ModelConfig(options.model_name, options.directory)]
    return ModelsOptions(
        models,
        threads=options.threads,
        poll_seconds=options.poll_seconds,
        batching=_fields(BatchingOptions, options),
        limits=_fields(SizeLimits, options),
    )


def server_options(options: argparse.Namespace) -> ServerOptions:
    """The options of the server.

    Raises:
        OSError, ValueError: the file of TLS is missing or wrong.
    """
    tls = options.ssl_config_file
    return ServerOptions(
        host=options.host,
        port=options.port,
        rest_port=options.rest_port,
        max_message_bytes=options.max_message_mb * MEGABYTE,
        rest=_fields(RestOptions, options, "rest_"),
        tensor_content=options.tensor_content,
        credentials=read_ssl_config(tls) if tls else None,
    )


def _fields(kind, options, prefix=""):
    """The dataclass `kind` with the options named as its fields."""
    names = [field.name for field in dataclasses.fields(kind)]
    return kind(**{name: getattr(options, f"{prefix}{name}") for name in names})


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    models = p.add_argument_group("models")
    _add_models(models.add_argument, models.add_mutually_exclusive_group(required=True))
    _add_server(p.add_argument_group("server").add_argument)
    _add_grpc(p.add_argument_group("gRPC").add_argument)
    _add_rest(p.add_argument_group("REST").add_argument)
    _add_numbers(p.add_argument_group("limits of a request").add_argument, SizeLimits())
    group = p.add_argument_group("batching, named as in TensorFlow Serving's file")
    _add_numbers(group.add_argument, BatchingOptions())
    return p


def _add_models(add, which):
    which.add_argument(
        "directory",
        metavar="OUT_DIR",
        type=Path,
        nargs="?",
        help="folder of the versions",
    )
    which.add_argument(
        "--model-config-file",
        type=Path,
        metavar="FILE",
        help="several models, labels and version policies: TensorFlow Serving's file",
    )
    add("--model-name", default=MODEL_NAME, help="name in requests (default: elmo)")
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


def _add_grpc(add):
    add(
        "--ssl-config-file",
        type=Path,
        metavar="FILE",
        help="TLS: TensorFlow Serving's file",
    )
    add(
        "--tensor-content",
        action="store_true",
        help="answers with the bytes tensor_content instead of float_val",
    )


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


def _add_numbers(add, defaults):
    for name, default in dataclasses.asdict(defaults).items():
        kind = non_negative if name == "batch_timeout_micros" else positive
        add(
            f"--{name.replace('_', '-')}",
            type=kind(int),
            default=default,
            help=f"default: {default}",
        )


if __name__ == "__main__":
    sys.exit(main())
