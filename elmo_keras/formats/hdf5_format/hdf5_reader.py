"""An HDF5 file, read without libhdf5."""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from elmo_keras.formats.hdf5_format import structures
from elmo_keras.formats.hdf5_format.datasets import Dataset, attribute, text_at
from elmo_keras.formats.hdf5_format.groups import is_group, links
from elmo_keras.formats.hdf5_format.structures import Cursor, Damaged

_MAX_OBJECTS, _MAX_DEPTH = 10_000, 32
_MAX_MESSAGES = 10**6  # in the headers of all objects


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
            if structures.LAYOUT in (parts := dict(header)):
                try:
                    yield name, Dataset(data, name, parts)
                except KeyError:
                    raise Damaged(
                        f"The dataset `{name}` has no shape or no dtype."
                    ) from None
                except Damaged as error:
                    raise Damaged(f"`{name}`: {error}") from None
            else:
                todo.append((f"{name}/", header))
