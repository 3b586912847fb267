"""Saved Keras models: `.keras` files, looked through before Keras loads them."""

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from elmo_keras.base.files import naming_damage
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.archives import read_archive
from elmo_keras.formats.hdf5 import open_hdf5
from elmo_keras.formats.published import finite, n_parameters
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
    with naming_damage(f"{_CONFIG} in {path} should describe a Keras model."):
        return dict(json.loads(files[_CONFIG].decode())), datasets


def load_keras_model(path: Path) -> keras.Model:
    """The model in a `.keras` file, which may come from anywhere.

    Keras reads the file with libhdf5 and builds what its configuration says. So the
    HDF5 content is first read by this package's own reader, and an `Elmo` layer that
    is larger than the weights is refused. Other layers of a file that is made to harm
    can still ask for any memory; Keras' safe mode keeps code from being run.
    """
    config, datasets = read_keras_file(path)
    n_values = sum(math.prod(d.shape) for d in datasets.values())
    with naming_damage(f"{_CONFIG} in {path} should describe a Keras model."):
        _check_sizes(config, n_values)
    with naming_damage(f"{path} should be a sound Keras model."):
        model: Any = keras.models.load_model(path, compile=False)
    for weight in model.weights:
        if weight.dtype.startswith(("float", "bfloat")):
            finite(weight.path, np.asarray(weight.value, "float32"))
    return model


def _check_sizes(config, n_values):
    """Refuses an `Elmo` layer anywhere in a configuration that is larger than the weights."""
    todo = [config]
    for part in todo:
        if isinstance(part, list):
            todo.extend(part)
        if not isinstance(part, dict):
            continue
        todo.extend(part.values())
        if part.get("registered_name") == "elmo_keras>Elmo":
            expected = n_parameters(ElmoConfig(**part["config"]["config"]))
            if expected > n_values:
                raise ValueError(
                    f"Its Elmo layer has {expected:,} weights, but {_WEIGHTS} holds "
                    f"{n_values:,} values."
                )
