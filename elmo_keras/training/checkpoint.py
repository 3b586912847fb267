"""Checkpoints of training: written whole or not at all, and checked when read."""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from elmo_keras.weights import datasets, new_hdf5

KEPT = 2
_ABOUT = "about"
# Bytes in front of the HDF5 content, for its SHA-256; HDF5 allows no fewer.
_FRONT = 512
_NAME = re.compile(r"checkpoint-(\d+)\.hdf5")


def save_checkpoint(
    folder: Path, step: int, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]
) -> Path:
    """Writes a checkpoint, then removes all but it and the one before.

    Args:
        folder: made if there is none.
        step: number of steps done, part of the name.
        arrays: what training needs to go on, by name.
        about: what JSON can hold.

    Returns:
        The path. In case of an error the older checkpoints are as they were.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"checkpoint-{step:010}.hdf5"
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        with new_hdf5(temporary, _FRONT) as file:
            file[_ABOUT] = json.dumps(about)  # an attribute holds 64 KiB at most
            for name, array in arrays.items():
                file[name] = _storable(np.asarray(array))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    # One of a later step was passed over as damaged, or training began anew.
    kept = [other for other in checkpoints(folder) if other <= path][:KEPT]
    for other in set(folder.glob("checkpoint-*")) - set(kept):
        other.unlink()  # also what was begun by a process that was killed
    return path


def _storable(array):
    """The array, or float32 for bfloat16, which HDF5 can't name."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _digest(file):
    file.seek(_FRONT)
    return hashlib.file_digest(file, "sha256").digest()


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a folder, the newest first."""
    found = [path for path in folder.glob("checkpoint-*") if _NAME.fullmatch(path.name)]
    return sorted(found, reverse=True)


def read_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and what was kept about them; bfloat16 comes as float32.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        # Before HDF5 sees it, which may crash or hang on a damaged file.
        with path.open("rb") as file:
            if file.read(32) != _digest(file):
                raise ValueError("Its content is not what was written.")
        with h5py.File(path, "r") as file:
            arrays = {name: array[()] for name, array in datasets(file).items()}
            return arrays, json.loads(arrays.pop(_ABOUT))
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        raise ValueError(f"{path} is damaged. {error}") from error


def newest_checkpoint(folder: Path) -> tuple[dict, dict, Path] | None:
    """The newest checkpoint that is whole, and its path; None if there is none.

    A damaged one is passed over with a warning.

    Raises:
        ValueError: there are checkpoints, and all of them are damaged.
    """
    paths = checkpoints(folder)
    for path in paths:
        try:
            return *read_checkpoint(path), path
        except ValueError as error:
            warnings.warn(f"{error} The one before is taken.", stacklevel=2)
    if paths:
        raise ValueError(f"All checkpoints in {folder} are damaged.")
    return None
