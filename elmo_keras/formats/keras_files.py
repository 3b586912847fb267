"""Saved Keras models: `.keras` files, looked through before Keras loads them."""

import json
import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from elmo_keras.formats.archives import read_archive
from elmo_keras.formats.hdf5 import open_hdf5
from elmo_keras.formats.published import finite
from elmo_keras.hub.local_files import not_a_pipe

_CONFIG, _WEIGHTS = "config.json", "model.weights.h5"


def read_keras_file(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration and the variables, by Keras' names, of a `.keras` file."""
    if not zipfile.is_zipfile(not_a_pipe(path)):
        raise ValueError(f"{path} should be a complete .keras file.")
    files = {
        name: b"".join(blocks)
        for name, blocks in read_archive(path)
        if name in (_CONFIG, _WEIGHTS)
    }
    missing = {_CONFIG, _WEIGHTS} - files.keys()
    if missing:
        raise ValueError(f"{path} should be a .keras file. It lacks {missing}.")
    datasets = open_hdf5(files[_WEIGHTS], f"{_WEIGHTS} in {path}").datasets
    try:
        return dict(json.loads(files[_CONFIG].decode())), datasets
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"{_CONFIG} in {path} should describe a Keras model. {error}"
        ) from error


def load_keras_model(path: Path) -> keras.Model:
    """The model in a `.keras` file of a known origin.

    Keras reads the file with libhdf5 and builds what its configuration says, in its safe
    mode, which runs no code. Damages are found by this package's own reader before.
    """
    read_keras_file(path)
    try:
        model: Any = keras.models.load_model(path, compile=False)
    except Exception as error:  # Keras raises all kinds
        raise ValueError(
            f"{path} should be a sound Keras model. {error!s:.500}"
        ) from error
    for weight in model.weights:
        if weight.dtype.startswith(("float", "bfloat")):
            finite(weight.path, np.asarray(weight.value, "float32"))
    return model
