"""The state before the first token that comes with a model: `start_state.h5`."""

import hashlib
import io
from typing import NamedTuple

import h5py
import numpy as np

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.hdf5 import Content, open_hdf5
from elmo_keras.formats.published import (
    Weights,
    array_of,
    check_shapes,
    finite,
    published_shapes,
    published_table,
)

MAX_START_STATE = 2**27  # bytes; 200 layers of the largest sizes have 2**26.7
DIGEST = "biases_sha256"  # attribute


class StartState(NamedTuple):
    output: np.ndarray  # float32 (2, n_layers, projection_dim), forward and backward
    cell: np.ndarray  # float32 (2, n_layers, units)


def parse_start_state(
    file: Content, config: ElmoConfig, weights: Weights
) -> StartState:
    shapes, content = _shapes(config), open_hdf5(file)
    try:
        check_shapes(shapes, content.datasets)
        state = [finite(part, content.datasets[part][...]) for part in shapes]
    except ValueError as error:
        raise ValueError(f"{file.name} should hold a start state. {error}") from error
    biases = (weights.datasets[part][...] for part in _biases(config))
    if content.text_attribute(DIGEST) != _digest(biases):
        raise ValueError(
            f"{file.name} is the start state of other weights than those beside it. "
            "Delete it, or make it again."
        )
    return StartState(*state)


def start_state_content(bilm: BidirectionalLanguageModel) -> bytes:
    table, content = published_table(bilm), io.BytesIO()
    biases = [array_of(table[name]) for name in _biases(bilm.config)]
    with h5py.File(content, "w") as file:
        for name, value in zip(_shapes(bilm.config), bilm.lstm.start_values()):
            file[name] = np.asarray(value, np.float32)
        file.attrs[DIGEST] = _digest(biases)
    return content.getvalue()


def _shapes(config):
    layers = 2, config.n_layers
    return {"output": (*layers, config.projection_dim), "cell": (*layers, config.units)}


def _biases(config):
    return [name for name in published_shapes(config) if name.endswith("/B")]


def _digest(biases):
    """SHA-256 of the LSTMs' biases, which every step of training changes."""
    content = b"".join(np.ascontiguousarray(bias, "<f4") for bias in biases)
    return hashlib.sha256(content).hexdigest()
