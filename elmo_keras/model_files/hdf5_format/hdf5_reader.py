"""An HDF5 file, read without libhdf5."""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from elmo_keras.model_files.hdf5_format import structures
from elmo_keras.model_files.hdf5_format.datasets import (
    TEXT,
    attribute,
    check_layout,
    dtype_of,
    filter_ids,
    read,
    shape_of,
    text_at,
)
from elmo_keras.model_files.hdf5_format.groups import is_group, links
from elmo_keras.model_files.hdf5_format.structures import Cursor, Damaged

_MAX_OBJECTS, _MAX_DEPTH = 10_000, 32
_MAX_MESSAGES = 10**6  # in the headers of all objects


class Dataset:
    """An array of a file, of which only the header has been read; `shape` may be None."""

    def __init__(
        self, data: memoryview, name: str, header: list[tuple[int, memoryview]]
    ):
        parts = dict(header)
        self.name, self._data = name, data
        self.shape = shape_of(parts[structures.DATASPACE])
        self.dtype = dtype_of(parts[structures.DATATYPE])
        self._layout = parts[structures.LAYOUT]
        self._filters = parts.get(structures.FILTERS)
        if structures.EXTERNAL in parts:
            raise Damaged(
                "Its values are in other files (external storage). All data should be "
                "in the file itself."
            )
        check_layout(self._layout)

    def __getitem__(self, everything) -> np.ndarray:
        """The values, given `...`; read-only, and not copied where that is possible."""
        if everything is not ...:
            raise IndexError(f"A dataset is read whole, by [...]. Got {everything!r}")
        if self.dtype == TEXT:
            raise ValueError(f"`{self.name}` should hold numbers. Found: strings")
        return self._read()

    def _read(self):
        found = "no value" if self.shape is None else self.dtype
        if isinstance(found, str):
            raise ValueError(f"`{self.name}` should hold numbers. Found: {found}")
        try:
            filters = filter_ids(self._filters) if self._filters else []
            return read(
                self._data, self._layout, filters, shape=self.shape, dtype=self.dtype
            )
        except (ValueError, OverflowError, MemoryError) as error:
            raise ValueError(f"`{self.name}` is damaged. {error}") from error

    def text(self) -> str:
        """The value of a dataset that holds one string of variable length."""
        array = self._read()
        if array.dtype != TEXT or array.size != 1:
            raise ValueError(f"`{self.name}` should hold one string.")
        return text_at(self._data, array.reshape(-1)[0])


class Hdf5File:
    """The datasets and the texts of an HDF5 file.

    It understands the files that h5py, Keras and bilm-tf write: groups of all versions,
    values in one piece, or in chunks of the earliest format, plain or with gzip and
    shuffle. It refuses what refers to other files (external storage, virtual datasets,
    soft and external links) and everything unknown. It reads no byte outside of the
    file, ends on loops, and takes memory for the values only.
    """

    def __init__(self, source: str | Path | bytes):
        if not isinstance(source, bytes):
            with open(source, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                whole = file.fileno(), size
                source = mmap.mmap(*whole, access=mmap.ACCESS_READ) if size else b""
        self._data, root = structures.superblock(memoryview(source))
        self._header = structures.messages(self._data, root)
        self.datasets = dict(_datasets(self._data, root, self._header))

    def text_attribute(self, name: str) -> str | None:
        """The attribute of a name; None if there is none that is a text."""
        try:
            for kind, body in self._header:
                if kind == structures.ATTRIBUTE:
                    found, value = attribute(Cursor(body))
                    if found == name and value is not None:
                        return text_at(self._data, value)
        except ValueError as error:
            raise ValueError(f"The attribute `{name}` is damaged. {error}") from error
        return None


def _datasets(data, root, header) -> Iterator[tuple[str, Dataset]]:
    todo, seen, n_messages = [("", header)], {root}, len(header)
    while todo:
        path, header = todo.pop()
        if path.count("/") > _MAX_DEPTH:
            raise Damaged("It has too many groups within each other.")
        if not is_group(header):
            raise Damaged("It holds something that is no group and no dataset.")
        for name, address in links(data, header).items():
            if address in seen or len(seen) == _MAX_OBJECTS:
                raise Damaged("It holds an object twice, or too many.")
            seen.add(address)
            header, name = structures.messages(data, address), f"{path}{name}"
            n_messages += len(header)
            if n_messages > _MAX_MESSAGES:
                raise Damaged("It has too much in its structures.")
            if structures.LAYOUT in dict(header):
                try:
                    yield name, Dataset(data, name, header)
                except KeyError:
                    raise Damaged(
                        f"The dataset `{name}` has no shape or no dtype."
                    ) from None
                except Damaged as error:
                    raise Damaged(f"`{name}`: {error}") from None
            else:
                todo.append((f"{name}/", header))
