"""The command `serve`."""

import contextlib
import hashlib
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.base.extras import missing_packages
from elmo_keras.base.files import file_digest, installed_version
from elmo_keras.base.messages import waiting
from elmo_keras.commands.command import import_tensorflow, stopping
from elmo_keras.export.version_paths import MODEL_NAME
from elmo_keras.heads.head import MODEL
from elmo_keras.hub.cache import cache_folder, only_writer
from elmo_keras.hub.catalogue import BOX, HEAD_FILES, WEIGHTS
from elmo_keras.serve.config import Config, ModelConfig, read_model_configs

# Requests that are on their way when the last answer is sent get UNAVAILABLE.
CLOSING_SECONDS = 0.1
_, ARRAYS, *_ = HEAD_FILES
DEFAULTS = Config()


def serve(
    directory: str | None = None,
    /,
    *,
    model_config_file: Path | None = None,
    model_name: str = MODEL_NAME,
    config: Config = DEFAULTS,
) -> None:
    """Serves a model with the embedded server, through TensorFlow Serving's interface.

    OUT_DIR holds versions written by `elmo-keras export`. The newest one answers, and
    the server switches to a newer one when it appears. It is for laptops, tests and
    small services; elsewhere, the image `tensorflow/serving` serves the same directory.
    A model directory, a head, or one of the package by its name, is exported to the cache
    at the first use.

        elmo-keras serve OUT_DIR --port 8500 --rest-port 8501
        elmo-keras serve en --rest-port 8501
        elmo-keras serve --model-config-file models.config

    Args:
        directory: folder of versions; or a model directory, a head, or a name of the package
        model_config_file: TensorFlow Serving's file, for several models and version
            policies
        model_name: name in requests
    """
    if missing := missing_packages("serve", "export"):
        raise ImportError(missing)
    if directory and not model_config_file:
        models = [ModelConfig(model_name, _directory(directory))]
    elif model_config_file and not directory:
        models = read_model_configs(model_config_file)
    else:
        raise ValueError("Give either OUT_DIR or --model-config-file.")
    style = "%(asctime)s %(message)s"
    logging.basicConfig(format=style, level=logging.INFO, stream=sys.stderr)
    # Malformed messages are the client's errors, and the client gets a status.
    logging.getLogger("grpc._common").disabled = True
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    import_tensorflow()
    run_server(models, config)


def _directory(name: str) -> Path:
    """A folder of versions; the export of a model or a head, made if it is missing."""
    source = Path(name)
    if not source.exists():
        if not source.name or not (BOX / name).is_dir():
            raise FileNotFoundError(
                f"There is no {name}. Give a folder of versions, which `elmo-keras "
                "export` writes, a model directory, a head, or a name of the package."
            )
        source = BOX / name
    files = (source / name for name in (ARRAYS, WEIGHTS, MODEL))
    weights = next((file for file in files if file.is_file()), None)
    if weights is None:
        return source
    version = installed_version("elmo-keras") or "checkout"
    cards = sorted(source.glob("*.json"))
    digest = hashlib.sha256("".join(map(file_digest, [*cards, weights])).encode())
    name = source.resolve().name
    folder = cache_folder() / "exports" / f"{name}-{version}-{digest.hexdigest()[:8]}"
    with only_writer(folder, f"Waiting for another process, which exports {name}."):
        if not any(folder.glob("[0-9]*")):
            from elmo_keras.export.command import export

            print(f"Exporting {name}, once.", file=sys.stderr, flush=True)
            export(str(source), folder)
    return folder


def run_server(models: Sequence[ModelConfig], config: Config) -> None:
    """Serves until Ctrl-C, SIGTERM or SIGHUP, and then answers the waiting requests."""
    from elmo_keras.serve.server import Server  # it imports TensorFlow

    with stopping() as stop, contextlib.ExitStack() as stack:
        with waiting("Loading the models"):
            server = stack.enter_context(contextlib.closing(Server(models, config)))
        for model in models:
            with server.models[model.name].lease() as servable:
                print(
                    f"Serving version {servable.version} of {model.name} on "
                    f"{config.host}: gRPC on port {server.port}, REST on port "
                    f"{server.rest_port}",
                    flush=True,
                )
        stop.wait()
        server.drain(config.grace_seconds)
        time.sleep(CLOSING_SECONDS)
