"""The variables of a TensorFlow checkpoint, each read when it is needed."""

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class CheckpointVariable:
    """A variable of a checkpoint; like an HDF5 dataset it is read when indexed.

    Attributes:
        reader: TensorFlow's reader of the checkpoint.
        prefix: the path of the checkpoint's files without `.index`.
        name: its name.
        shape: its shape.
    """

    reader: Any
    prefix: str | Path
    name: str
    shape: tuple[int, ...]

    def __getitem__(self, index: Any) -> np.ndarray:
        """Some of the values.

        Raises:
            ValueError: the checkpoint is damaged.
        """
        with _reading(self.prefix):
            return self.reader.get_tensor(self.name)[index]


def checkpoint_variables(prefix: str | Path) -> dict[str, CheckpointVariable]:
    """Name → variable of a checkpoint; no values are read.

    Args:
        prefix: the path of its files without `.index`.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        ValueError: it is damaged, or its files are too short for its variables.
    """
    if not Path(f"{prefix}.index").exists():
        raise FileNotFoundError(
            f"There is no {prefix}.index. A checkpoint is named by the path of its "
            "files without the ending, such as DIRECTORY/model.ckpt-100."
        )
    with _reading(prefix):
        reader = tf.train.load_checkpoint(prefix)
        shapes = reader.get_variable_to_shape_map()
    _check_size(Path(prefix), sum(map(math.prod, shapes.values())))
    return {
        name: CheckpointVariable(reader, prefix, name, tuple(shape))
        for name, shape in shapes.items()
    }


def _check_size(prefix, n_values):
    """Refuses shapes that would take more memory than the files justify."""
    start = f"{prefix.name}.data-"
    files = [path for path in prefix.parent.iterdir() if path.name.startswith(start)]
    size = sum(path.stat().st_size for path in files)
    if size < n_values:
        raise ValueError(
            f"{prefix} should be a complete TensorFlow checkpoint, .index and .data "
            f"files. Its .data files have {size:,} bytes for {n_values:,} values."
        )


@contextlib.contextmanager
def _reading(prefix) -> Iterator[None]:
    try:
        yield
    except (tf.errors.OpError, IndexError) as error:  # IndexError: a file ends early
        raise ValueError(
            f"{prefix} should be a complete TensorFlow checkpoint, .index and .data "
            f"files. {error}"
        ) from error
