"""What names a model, turned into files: a path, a published name or an address."""

import contextlib
import functools
import os
import sys
from pathlib import Path

from elmo_keras.config import PRESETS
from elmo_keras.hub.cache import cache_folder, folder_name
from elmo_keras.hub.catalogue import (
    HUB,
    file_at,
    is_address,
    published_model,
    similar_names,
)
from elmo_keras.hub.download import download, fetch
from elmo_keras.hub.hugging_face import hub_files
from elmo_keras.util.command import shortened

COMMAND = "python -m elmo_keras.hub"
MODEL_HELP = "a model directory, a zip, or a published model's name or address"
ARITHMETIC = {
    "choices": ["float32", "mixed_bfloat16", "bfloat16", "int8"],
    "help": "of the computing (default: float32); int8 is by LiteRT, on CPUs",
}


def local_files(
    model: str | Path, weights: str | Path | None = None
) -> tuple[Path, Path | None]:
    """The paths of a model, downloaded if needed.

    A model is a path; or a string with the name of a published model, `nlpl:NUMBER`,
    `hf://OWNER/NAME[@REVISION]` or an `https://` address. A path that exists, or that is the
    prefix of a TensorFlow checkpoint, comes first, and a `Path` is never a name. With
    `weights` both are paths or addresses of single files.

    Returns without `weights` a model directory or archive and None, or options and weights
    at Hugging Face. A user's paths are returned whether they exist or not.
    """
    for name in (model,) if weights is None else (model, weights):
        check_name(name)
    if weights is not None:
        return _file(model), _file(weights)
    if _is_path(model):
        if _is_also_a_name(model):
            _say_that_path_is_read(model)
        return not_a_pipe(Path(model)), None
    published = published_model(model)
    if published is None:
        raise FileNotFoundError(unknown_model(model))
    return download(published)


def check_name(model: object) -> None:
    """Refuses what can't be a path, a name or an address."""
    if not isinstance(model, (str, os.PathLike)) or not os.fspath(model):
        raise TypeError(
            "A model, and its weights, should be a path, a name or an address, each a "
            f"str or a Path. Received: {shortened(model)}"
        )


def not_a_pipe(path: Path) -> Path:
    """A path, unless what is there may never end: a pipe, a socket or a device."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} should be a file or a folder. It is a pipe, a socket or a device. "
            "Copy its content to a file."
        )
    return path


def path_or_name(text: str) -> str | Path:
    """A type for `argparse`: a path that exists as `Path`, all else as it is."""
    return Path(text) if os.path.exists(text) and not _is_also_a_name(text) else text


def model_title(model: str | Path) -> str:
    """A short name for what names a model, fit for a file name.

    >>> model_title("models/en"), model_title("nlpl:161")
    ('en', 'nlpl-161')
    """
    if _is_name(model):
        return folder_name(published_model(model).name)
    return Path(os.path.realpath(model)).stem


def absolute(model: str | Path) -> str:
    """What names a model, independent of the current directory."""
    check_name(model)
    return model if _is_name(model) else os.path.realpath(model)


def _is_name(model):
    return not _is_path(model) and published_model(model) is not None


def _is_path(model):
    """Whether a path is given, or a string that is one: also a checkpoint's prefix."""
    if isinstance(model, os.PathLike) or os.path.exists(model):
        return True
    return os.path.exists(f"{model}.index")


def _file(path):
    """A single file: an address is downloaded."""
    if not (isinstance(path, str) and is_address(path)):
        return not_a_pipe(Path(path))
    file = file_at(path)
    if path.startswith(HUB):
        return hub_files([path])[0]
    return fetch(file, cache_folder() / folder_name(path))


def _is_also_a_name(path):
    with contextlib.suppress(ValueError):
        return isinstance(path, str) and published_model(path) is not None
    return False


@functools.cache  # so that it is said once
def _say_that_path_is_read(model):
    print(
        f"{model} is a published model, and a path in this folder; the path is read."
        " Run elsewhere, or rename it, to read the published model.",
        file=sys.stderr,
        flush=True,
    )


def unknown_model(model: str) -> str:
    """Why a string names no model, and what may have been meant."""
    if model in PRESETS:
        return (
            f"There is no {model}: it names sizes (ElmoConfig.preset), and no weights "
            f"of these sizes are published. {COMMAND} lists the models with weights."
        )
    missing = f"There is no {model}."
    if "/" in model or Path(model).suffix in (".zip", ".json", ".hdf5", ".gz"):
        return missing
    similar = similar_names(model)
    meant = f" Did you mean {' or '.join(similar)}?" if similar else ""
    return (
        f"{missing} It is neither a path nor the name of a published model.{meant} "
        f"{COMMAND} lists the names."
    )
