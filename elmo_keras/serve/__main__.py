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

from elmo_keras.export.version_paths import MODEL_NAME
from elmo_keras.serve.config import (
    MEGABYTE,
    Config,
    ModelConfig,
    read_model_configs,
    read_ssl_config,
)
from elmo_keras.util.argument_types import non_negative, port, positive, seconds
from elmo_keras.util.command import (
    INTERRUPTED,
    command_parser,
    fail,
    run_command,
    stopping,
)

CLOSING_SECONDS = 0.1  # for the last answers to reach their clients
PROGRAM = __package__  # `export.serve`, or `elmo_keras.serve` when installed

count, some_time = positive(int), positive(float)
# Group → field of `Config` → type and help.
OPTIONS = {
    "models": {
        "threads": (count, "of TensorFlow's operations (default: one per processor)"),
        "poll_seconds": (seconds, "seconds between checks for a newer version"),
    },
    "server": {
        "host": (str, "address"),
        "port": (port, "of gRPC; 0 takes a free one"),
        "grace_seconds": (seconds, "seconds to answer waiting requests at the end"),
        "max_message_mb": (count, "maximum size of a request, in MB"),
    },
    "gRPC": {"tensor_content": (bool, "answers with tensor_content, not float_val")},
    "REST": {
        "rest_port": (port, "0 takes a free one"),
        "rest_timeout": (some_time, "seconds for an answer, after the request's end"),
        "rest_header_timeout": (some_time, "seconds for headers, or idle"),
        "rest_body_timeout": (
            some_time,
            "of a request, and to read a part of an answer",
        ),
        "rest_max_connections": (count, "a further one takes the place of an idle one"),
        "rest_cors": (bool, "answers any page of a browser"),
    },
    "limits of a request": {
        "max_request_rows": (count, "sentences"),
        "max_request_tokens": (count, "tokens of all sentences"),
        "max_answer_mb": (count, "MB of the requested outputs"),
    },
    "batching, named as in TensorFlow Serving's file": {
        "max_batch_size": (count, "rows; a larger request is a batch by itself"),
        "max_batch_tokens": (count, "positions, with padding"),
        "long_request_tokens": (count, "a request with more has threads of its own"),
        "batch_timeout_micros": (non_negative(int), "time to wait for other requests"),
        "max_enqueued_requests": (count, "that wait; further ones are refused"),
        "num_batch_threads": (count, "batches computed at the same time"),
    },
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    style = "%(asctime)s %(message)s"
    logging.basicConfig(format=style, level=logging.INFO, stream=sys.stderr)
    # Malformed messages are the client's errors, and the client gets a status.
    logging.getLogger("grpc._common").disabled = True
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    return run_command(PROGRAM, lambda: serve(read_config(options)))


def serve(config: Config) -> None:
    """Serves until Ctrl-C or SIGTERM, then answers the waiting requests and exits."""
    from elmo_keras.serve.server import Server  # by TensorFlow

    with stopping() as stop:
        server = Server(config)
        try:
            for model in config.models:
                with server.models[model.name].lease() as servable:
                    print(
                        f"Serving version {servable.version} of {model.name} on "
                        f"{config.host}: gRPC on port {server.port}, REST on port "
                        f"{server.rest_port}",
                        flush=True,
                    )
            stop.wait()
            server.drain(config.grace_seconds)
            status = 0
        except KeyboardInterrupt:  # Ctrl-C once more
            status = fail(PROGRAM, INTERRUPTED, "Interrupted.")
    # The process ends also while a request is computed that nobody waits for. Ports
    # stay open: clients whose requests arrive now get UNAVAILABLE.
    time.sleep(CLOSING_SECONDS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def read_config(options: argparse.Namespace) -> Config:
    if options.model_config_file:
        models = read_model_configs(options.model_config_file)
    else:
        models = [ModelConfig(options.model_name, options.directory)]
    fields = {field.name for field in dataclasses.fields(Config)}
    given = {name: x for name, x in vars(options).items() if name in fields}
    if options.ssl_config_file:
        given["credentials"] = read_ssl_config(options.ssl_config_file)
    given["max_message_bytes"] = options.max_message_mb * MEGABYTE
    return Config(models, **given)


def parser() -> argparse.ArgumentParser:
    """The command line; options with a default are fields of `Config`."""
    p = command_parser(PROGRAM, __doc__)
    groups = {title: p.add_argument_group(title) for title in OPTIONS}
    which = groups["models"].add_mutually_exclusive_group(required=True)
    add, file = which.add_argument, {"type": Path, "metavar": "FILE"}
    add("directory", metavar="OUT_DIR", type=Path, nargs="?", help="folder of versions")
    models = "several models, labels and version policies: TensorFlow Serving's file"
    add("--model-config-file", **file, help=models)
    groups["models"].add_argument(
        "--model-name", default=MODEL_NAME, help="name in requests (default: elmo)"
    )
    tls = "TLS: TensorFlow Serving's file"
    groups["gRPC"].add_argument("--ssl-config-file", **file, help=tls)
    usual = vars(Config()) | {"max_message_mb": Config.max_message_bytes // MEGABYTE}
    for title, options in OPTIONS.items():
        for name, (type_, text) in options.items():
            add, default = groups[title].add_argument, usual[name]
            option = f"--{name.replace('_', '-')}"
            if type_ is bool:
                add(option, action="store_true", help=text)
                continue
            shown = f"{default:g}" if isinstance(default, float) else default
            text += "" if default is None else f" (default: {shown})"
            add(option, type=type_, default=default, help=text)
    return p


if __name__ == "__main__":
    sys.exit(main())
