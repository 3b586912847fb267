"""TensorFlow checkpoints: variables, each read when it is needed, and bilm-tf's names."""

import contextlib
import dataclasses
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class CheckpointVariable:
    """A variable of a checkpoint; like an HDF5 dataset it is read when indexed."""

    reader: Any
    prefix: str | Path
    name: str
    shape: tuple[int, ...]

    def __getitem__(self, index: Any) -> np.ndarray:
        with _reading(self.prefix):
            return self.reader.get_tensor(self.name)[index]


def checkpoint_variables(prefix: str | Path) -> dict[str, CheckpointVariable]:
    if not Path(f"{prefix}.index").exists():
        raise FileNotFoundError(
            f"There is no {prefix}.index. A checkpoint is named by the path of its "
            "files without the ending, such as DIRECTORY/model.ckpt-100."
        )
    with _reading(prefix):
        reader = tf.train.load_checkpoint(prefix)
        shapes = reader.get_variable_to_shape_map()
    # Shapes should not take more memory than the files justify.
    n_values = sum(map(math.prod, shapes.values()))
    files, start = Path(prefix).parent.iterdir(), f"{Path(prefix).name}.data-"
    size = sum(path.stat().st_size for path in files if path.name.startswith(start))
    if size < n_values:
        raise ValueError(
            f"{prefix} should be a complete TensorFlow checkpoint, .index and .data "
            f"files. Its .data files have {size:,} bytes for {n_values:,} values."
        )
    return {
        name: CheckpointVariable(reader, prefix, name, tuple(shape))
        for name, shape in shapes.items()
    }


@contextlib.contextmanager
def _reading(prefix) -> Iterator[None]:
    try:
        yield
    except (tf.errors.OpError, IndexError) as error:  # IndexError: a file ends early
        raise ValueError(
            f"{prefix} should be a complete TensorFlow checkpoint, .index and .data "
            f"files. {error}"
        ) from error


# The cell of a checkpoint, of one with a single layer, and of a Hub module.
_CELL = re.compile(
    r"RNN_(\d+)/(?:rnn/multi_rnn_cell/cell_(\d+)|RNN/MultiRNNCell/Cell(\d+)/rnn|rnn)"
    r"/lstm_cell/(.+)"
)
_OF_CELLS = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}
_SCOPE, ADAGRAD = "lm/", "Adagrad"


def published_name(name: str) -> str:
    """The name that a variable, without its scope, has in published weights."""
    match = _CELL.fullmatch(name)
    if match is None:
        return name
    direction, cell, cell_of_module, part = match.groups()
    cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{cell or cell_of_module or 0}"
    return f"{cell}/LSTMCell/{_OF_CELLS.get(part, part)}"


def read_checkpoint(prefix: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights of a checkpoint, and Adagrad's accumulators as `NAME/Adagrad`."""
    variables = checkpoint_variables(prefix)
    datasets, accumulators = {}, {}
    for name, variable in variables.items():
        whole, _, slot = name.rpartition("/")
        if not name.startswith(_SCOPE):
            continue
        if slot == ADAGRAD:
            whole = published_name(whole.removeprefix(_SCOPE))
            accumulators[f"{whole}/{ADAGRAD}"] = variable
        elif whole not in variables:  # it is not of another optimizer
            datasets[published_name(name.removeprefix(_SCOPE))] = variable
    return datasets, accumulators
