"""The variables of a biLM by their published names: assigned from arrays, and written."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import h5py
import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.formats.published import (
    BLOCKED,
    Row,
    check_shapes,
    finite_values,
    published_rows,
    softmax_rows,
)
from elmo_keras.formats.quantise import write_packed
from elmo_keras.layers.blocked_weights import block, unblock

VALUES_AT_ONCE = 2**25  # values of a variable that are assigned together


@dataclasses.dataclass(frozen=True)
class BlockedMatrix:
    """A variable that holds a matrix in blocks (`layers.blocked_weights`)."""

    variable: keras.Variable

    @property
    def shape(self):
        deep, wide, depth, width = self.variable.shape
        return deep * depth, wide * width


class Entry(NamedTuple):
    """An array of the file: its shape, and the variables it is made of, along axis 0."""

    shape: tuple[int, ...]
    variables: tuple[keras.Variable | BlockedMatrix, ...]


def _entries(
    rows: Mapping[str, Row], bilm: BidirectionalLanguageModel
) -> dict[str, Entry]:
    return {
        name: Entry(row.shape, tuple(_variable(bilm, path) for path in row.paths))
        for name, row in rows.items()
    }


def _variable(item: Any, path: str) -> Any:
    for part in path.split("."):
        item = item[int(part)] if part.isdecimal() else getattr(item, part)
    return BlockedMatrix(item) if path.endswith(BLOCKED) else item


def published_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry of each published dataset."""
    return _entries(published_rows(bilm.config), bilm)


def softmax_table(bilm: BidirectionalLanguageModel) -> dict[str, Entry]:
    """Name → entry of the softmax, which published HDF5 files leave out."""
    return _entries(softmax_rows(bilm.config, bilm.vocabulary_size or 0), bilm)


def published_arrays(bilm: BidirectionalLanguageModel) -> dict[str, np.ndarray]:
    """The published datasets of a biLM, in float32."""
    return {name: array_of(entry) for name, entry in published_table(bilm).items()}


def read_table(table: dict[str, Entry], datasets: Mapping[str, Any]) -> None:
    """Reads every entry of `table`; no weight is changed if an array is damaged."""
    check_shapes(table, datasets)
    # All are read before any is assigned. Arrays of HDF5 files are not copied here.
    arrays = {name: finite_values(name, datasets[name]) for name in table}
    for name, entry in table.items():
        assign(entry, arrays[name])


def assign(entry: Entry, array: np.ndarray) -> None:
    for variable, rows in split(entry, array):
        is_replicated = isinstance(variable.value, tf.distribute.DistributedValues)
        if rows.size <= VALUES_AT_ONCE or is_replicated:
            variable.assign(rows)
            continue
        # Without a copy of all rows, such as those of a large softmax.
        n_rows = max(1, VALUES_AT_ONCE * len(rows) // rows.size)
        for first in range(0, len(rows), n_rows):
            part = slice(first, first + n_rows)
            variable.value[part].assign(tf.cast(rows[part], variable.dtype))


def split(
    entry: Entry, array: np.ndarray
) -> Iterator[tuple[keras.Variable, np.ndarray]]:
    """Yields each variable of an entry with its values, which are rows of the array."""
    first = 0
    for variable in entry.variables:
        n_rows = variable.shape[0] if len(entry.variables) > 1 else array.shape[0]
        rows = array[first : first + n_rows]
        first += n_rows
        if isinstance(variable, BlockedMatrix):
            yield variable.variable, block(tf.constant(rows)).numpy()
        else:
            yield variable, rows.reshape(variable.shape)


def write_weights(
    bilm: BidirectionalLanguageModel, file: h5py.File, *, packed: bool = False
) -> None:
    write_table(published_table(bilm), file, packed=packed)
    if bilm.config.has_characters and bilm.token_representation.projection is None:
        # If the projection would keep the size, bilm-tf reads none. AllenNLP always
        # reads one.
        dim = bilm.config.projection_dim
        file["CNN_proj/W_proj"] = np.eye(dim, dtype=np.float32)
        file["CNN_proj/b_proj"] = np.zeros(dim, dtype=np.float32)


def write_table(
    table: dict[str, Entry], file: h5py.File, *, packed: bool = False
) -> None:
    """Writes every entry as float32, or matrices as int8."""
    for name, entry in table.items():
        if packed:
            write_packed(file, name, array_of(entry), len(entry.variables))
        else:
            file[name] = array_of(entry)


def array_of(entry: Entry) -> np.ndarray:
    return np.concatenate(list(map(_rows, entry.variables))).reshape(entry.shape)


def _rows(variable) -> Any:
    if isinstance(variable, BlockedMatrix):
        return unblock(_rows(variable.variable)).numpy()
    return keras.ops.convert_to_numpy(keras.ops.cast(variable.value, "float32"))
