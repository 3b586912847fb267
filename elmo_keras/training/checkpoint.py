"""Checkpoints of training: written whole or not at all, and checked when read."""

import dataclasses
import hashlib
import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.base.files import replacing
from elmo_keras.formats.hdf5 import new_hdf5, open_hdf5

N_KEPT = 2
_METADATA = "metadata"  # its name in the file
# Bytes before the HDF5 content, for its SHA-256; HDF5 allows no fewer.
_FRONT = 512
_NAME = re.compile(r"checkpoint-(\d+)\.hdf5")


def save_checkpoint(
    folder: Path,
    step: int,
    arrays: Mapping[str, np.ndarray],
    *,
    metadata: Mapping[str, Any],
) -> Path:
    """Writes a checkpoint, then removes all others but the previous one.

    `metadata` is further state, serializable as JSON. An error removes none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"checkpoint-{step:010}.hdf5"
    with replacing(path) as temporary, new_hdf5(temporary, _FRONT) as file:
        file[_METADATA] = json.dumps(metadata)  # an attribute holds 64 KiB at most
        for name, array in arrays.items():
            array = np.asarray(array)
            # HDF5 has no bfloat16.
            file[name] = array.astype(np.float32) if array.dtype.kind == "V" else array
    # A later step's checkpoint was skipped as damaged, or is from an earlier run.
    newest = [other for other in checkpoints(folder) if other <= path][:N_KEPT]
    # This also removes unfinished files of killed processes.
    for other in set(folder.glob("*checkpoint-*")) - set(newest):
        other.unlink()
    return path


def checkpoints(folder: Path) -> list[Path]:
    paths = [path for path in folder.glob("checkpoint-*") if _NAME.fullmatch(path.name)]
    return sorted(paths, reverse=True)


def read_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the further state of a checkpoint, bfloat16 as float32."""
    try:
        with path.open("rb") as file:
            expected = file.read(32)
            file.seek(_FRONT)
            if hashlib.file_digest(file, "sha256").digest() != expected:
                raise ValueError("Its content is not what was written.")
        file = open_hdf5(path)
        metadata = json.loads(file.datasets.pop(_METADATA).text())
        arrays = {name: array[...] for name, array in file.datasets.items()}
        if not isinstance(metadata, dict):
            raise ValueError(f"`{_METADATA}` should be a JSON object.")
        return arrays, metadata
    except (OSError, KeyError, RecursionError, ValueError) as error:
        raise ValueError(f"{path} is damaged. {error}") from error


def newest_checkpoint(folder: Path) -> tuple[dict, dict, Path] | None:
    """The newest undamaged checkpoint and its path; None if there is no checkpoint."""
    paths = checkpoints(folder)
    for path in paths:
        try:
            return *read_checkpoint(path), path
        except ValueError as error:
            warnings.warn(f"{error} Trying the previous one.", stacklevel=2)
    if paths:
        raise ValueError(f"All checkpoints in {folder} are damaged.")
    return None


@dataclasses.dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a run, which `fit` writes and continues from.

    They are written every few steps and after each epoch. A resumed run ends bit for bit
    as if it had not been interrupted (on one device).

    Args:
        folder: where the checkpoints are, of which the newest two are kept.
        every: steps between them.
        metadata: further values that must not change when training is resumed,
            serializable as JSON.

    Raises:
        ValueError: the checkpoints are of another training, or all damaged.
        FloatingPointError: a weight is not finite, so nothing is saved.
    """

    folder: str | Path
    _: dataclasses.KW_ONLY
    every: int = 500
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)
