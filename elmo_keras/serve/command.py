"""The command `serve`."""

import logging
import os
import sys
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elmo_keras.export.version_paths import MODEL_NAME
from elmo_keras.serve.config import (
    MEGABYTE,
    Config,
    ModelConfig,
    batches_at_once,
    read_model_configs,
    read_ssl_config,
)
from elmo_keras.util.arguments import Count, Index, Port, Positive, Seconds
from elmo_keras.util.command import INTERRUPTED, fail, import_tensorflow, stopping

CLOSING_SECONDS = 0.1  # for the last answers to reach their clients
GRPC = Parameter(group="gRPC")
REST = Parameter(group="REST")
LIMITS = Parameter(group="Limits of a request")
BATCHING = Parameter(group="Batching, named as in TensorFlow Serving's file")


def serve(
    directory: Path | None = None,
    /,
    *,
    model_config_file: Path | None = None,
    model_name: str = MODEL_NAME,
    threads: Count | None = None,
    poll_seconds: Seconds = 2.0,
    host: str = "127.0.0.1",
    grace_seconds: Seconds = 10.0,
    port: Annotated[Port, GRPC] = 8500,
    ssl_config_file: Annotated[Path | None, GRPC] = None,
    tensor_content: Annotated[bool, GRPC] = False,
    rest_port: Annotated[Port, REST] = 8501,
    rest_timeout: Annotated[Positive, REST] = 30.0,
    rest_header_timeout: Annotated[Positive, REST] = 30.0,
    rest_body_timeout: Annotated[Positive, REST] = 60.0,
    rest_cors: Annotated[bool, REST] = False,
    max_message_mb: Annotated[Count, LIMITS] = 64,
    max_request_tokens: Annotated[Count, LIMITS] = 65_536,
    max_batch_size: Annotated[Count, BATCHING] = 32,
    max_batch_tokens: Annotated[Count, BATCHING] = 4096,
    long_request_tokens: Annotated[Count, BATCHING] = 2048,
    batch_timeout_micros: Annotated[Index, BATCHING] = 0,
    max_enqueued_requests: Annotated[Count, BATCHING] = 128,
    num_batch_threads: Annotated[Count | None, BATCHING] = None,
) -> None:
    """Serves a model with the embedded server, through TensorFlow Serving's interface.

    OUT_DIR holds versions written by `elmo-keras export`. The newest one answers, and
    the server switches to a newer one when it appears. It is for laptops, tests and
    small services; elsewhere, the image `tensorflow/serving` serves the same directory.

        elmo-keras serve OUT_DIR --port 8500 --rest-port 8501
        elmo-keras serve --model-config-file models.config

    Args:
        directory: folder of versions
        model_config_file: TensorFlow Serving's file, for several models, labels and
            version policies
        model_name: name in requests
        threads: of TensorFlow's operations; one for each processor if not given
        poll_seconds: seconds between checks for a newer version
        host: address
        grace_seconds: seconds to answer waiting requests at the end
        port: of gRPC; 0 takes a free one
        ssl_config_file: TensorFlow Serving's file for TLS
        tensor_content: answers with tensor_content, not float_val
        rest_port: 0 takes a free one
        rest_timeout: seconds for an answer, after the request's end
        rest_header_timeout: seconds for headers, or idle
        rest_body_timeout: seconds for a request, and to read a part of an answer
        rest_cors: answers any page of a browser
        max_message_mb: maximum size of a request, in MB
        max_request_tokens: tokens of all sentences, with their padding
        max_batch_size: rows; a larger request is a batch by itself
        max_batch_tokens: positions, with padding
        long_request_tokens: a request with more has threads of its own
        batch_timeout_micros: time to wait for other requests
        max_enqueued_requests: requests that wait; further ones are refused
        num_batch_threads: batches computed at the same time; by the processors if not
            given
    """
    if directory and not model_config_file:
        models = [ModelConfig(model_name, directory)]
    elif model_config_file and not directory:
        models = read_model_configs(model_config_file)
    else:
        raise ValueError("Give either OUT_DIR or --model-config-file.")
    log_requests()
    config = Config(
        models,
        threads=threads,
        poll_seconds=poll_seconds,
        host=host,
        port=port,
        rest_port=rest_port,
        grace_seconds=grace_seconds,
        max_message_bytes=max_message_mb * MEGABYTE,
        credentials=ssl_config_file and read_ssl_config(ssl_config_file),
        tensor_content=tensor_content,
        rest_timeout=rest_timeout,
        rest_header_timeout=rest_header_timeout,
        rest_body_timeout=rest_body_timeout,
        rest_cors=rest_cors,
        max_request_tokens=max_request_tokens,
        max_batch_size=max_batch_size,
        max_batch_tokens=max_batch_tokens,
        long_request_tokens=long_request_tokens,
        batch_timeout_micros=batch_timeout_micros,
        max_enqueued_requests=max_enqueued_requests,
        num_batch_threads=num_batch_threads or batches_at_once(),
    )
    import_tensorflow()
    run_server(config)


def log_requests() -> None:
    style = "%(asctime)s %(message)s"
    logging.basicConfig(format=style, level=logging.INFO, stream=sys.stderr)
    # Malformed messages are the client's errors, and the client gets a status.
    for name in ("grpc._common", "aiohttp.server"):
        logging.getLogger(name).disabled = True
    logging.getLogger("tensorflow").setLevel(logging.ERROR)


def run_server(config: Config) -> None:
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
            status = fail("elmo-keras serve", INTERRUPTED, "Interrupted.")
    # The process ends also while a request is computed that nobody waits for. Ports
    # stay open: clients whose requests arrive now get UNAVAILABLE.
    time.sleep(CLOSING_SECONDS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
