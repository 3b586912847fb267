"""What names a model, turned into files: a path, a published name or an address."""

import os
from pathlib import Path

from elmo_keras.argument_checks import shortened
from elmo_keras.hub.cache import cache_folder, folder_name
from elmo_keras.hub.catalogue import (
    HUB,
    file_at,
    is_address,
    published_model,
    required_model,
)
from elmo_keras.hub.download import download_file, download_model
from elmo_keras.hub.hugging_face import download_from_hub


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
    if weights is not None:
        return _single_file(model), _single_file(weights)
    if _is_path(model):
        return not_a_pipe(Path(model)), None
    return download_model(required_model(str(model)))


def not_a_pipe(path: Path) -> Path:
    """A path, unless what is there may never end: a pipe, a socket or a device."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} should be a file or a folder. It is a pipe, a socket or a device. "
            "Copy its content to a file."
        )
    return path


def model_title(model: str | Path) -> str:
    """A short name for what names a model, fit for a file name.

    >>> model_title("models/en"), model_title("nlpl:161")
    ('en', 'nlpl-161')
    """
    published = None if _is_path(model) else published_model(str(model))
    return folder_name(published.name) if published else Path(absolute(model)).stem


def absolute(model: str | Path) -> str:
    """What names a model, independent of the current directory."""
    if _is_path(model) or published_model(str(model)) is None:
        return os.path.realpath(model)
    return str(model)


def _is_path(model):
    """Whether a path is given, or a string that is one: also a checkpoint's prefix."""
    if not isinstance(model, (str, os.PathLike)) or not os.fspath(model):
        raise TypeError(
            "A model, and its weights, should be a path, a name or an address, each a "
            f"str or a Path. Received: {shortened(model)}"
        )
    if isinstance(model, os.PathLike) or os.path.exists(model):
        return True
    return os.path.exists(f"{model}.index")


def _single_file(path):
    if _is_path(path) or not is_address(path):
        return not_a_pipe(Path(path))
    file = file_at(path)
    if path.startswith(HUB):
        return download_from_hub([path])[0]
    return download_file(file, cache_folder() / folder_name(path))
