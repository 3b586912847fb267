"""HDF5 files: read by pyfive within bounds, and written whole.

pyfive reads the structures, a limited number of bytes. Values are read here: those in one
piece stay mapped into memory, and a chunk inflates to its size and no further.
"""

import contextlib
import hashlib
import io
import itertools
import math
import mmap
import os
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyfive

from elmo_keras.base.files import naming_damage, on_disk
from elmo_keras.formats.quantise import join_scales

if TYPE_CHECKING:  # files are read without it
    import h5py

_COMPACT, _CONTIGUOUS, _CHUNKED = range(3)
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3  # filters
_MAX_STRUCTURES = 2**23  # bytes, on top of a quarter of the file
_LEAST_READ = 256  # bytes; a shorter read counts as these, so that all reading ends
_FREE_CHUNK = 2**24  # bytes; a larger chunk may have twice the bytes of its array
_REWRITE = (
    """If h5py reads it, write it again: python -c "import h5py; """
    "old, new = h5py.File('OLD'), h5py.File('NEW', 'w'); old.visititems(lambda n, x: "
    """new.__setitem__(n, x[()]) if isinstance(x, h5py.Dataset) else None)\""""
)


def open_hdf5(path: Path) -> "Hdf5File":
    """The datasets of a file, which needs no trust."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    with _naming_damage(f"{path} should be an HDF5 file."):
        return Hdf5File(path)


@contextlib.contextmanager
def _naming_damage(message):
    rare = f"A structure in it is damaged, or of a rare kind. {_REWRITE}"
    with warnings.catch_warnings(action="ignore"), naming_damage(message, rare):
        yield  # pyfive warns, and raises all kinds where structures are damaged


class Hdf5File:
    """The datasets and the texts of an HDF5 file; links to others aren't followed."""

    def __init__(self, path: Path):
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size  # an empty file can't be mapped
            args = file.fileno(), size
            content = mmap.mmap(*args, access=mmap.ACCESS_READ) if size else b""
        stream: Any = _Structures(memoryview(content))
        self._file = pyfive.File(stream)
        data = stream.data[self._file.userblock_size :]
        datasets: dict[str, Dataset] = {}

        def collect(name, item):
            if isinstance(item, pyfive.Dataset):
                datasets[name] = Dataset(data, name, item)

        self._file.visititems(collect, noindex=True)
        self.datasets = join_scales(datasets)

    def text_attribute(self, name: str) -> str | None:
        """The attribute of a name; None if there is none that is a text."""
        with _naming_damage(f"The attribute `{name}` is damaged."):
            value = self._file.attrs.get(name)
            return value.decode() if isinstance(value, bytes) else None


class _Structures:
    """The bytes of a file as a stream for pyfive, which reads a limited number of them."""

    closed = False

    def __init__(self, data: memoryview):
        self.data, self._position = data, 0
        self._left = _MAX_STRUCTURES + len(data) // 4

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = (0, self._position, len(self.data))[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int) -> bytes:
        part = self.data[self._position : self._position + size]
        self._position += len(part)
        self._left -= max(_LEAST_READ, len(part))
        if self._left < 0:
            raise ValueError("It has too much in its structures, which weights don't.")
        return bytes(part)


class Dataset:
    """An array of a file. Only its header has been read."""

    def __init__(self, data: memoryview, name: str, dataset: Any):  # pyfive's
        self.name, self.shape = name, dataset.shape
        self._data, self._dataset = data, dataset

    def __getitem__(self, index) -> np.ndarray:
        """The values; read-only, and not copied where that is possible."""
        with _naming_damage(f"`{self.name}` is damaged."):
            dtype = np.dtype(self._dataset.dtype.str)
            if dtype.kind not in "biuf":
                raise ValueError(f"It should hold numbers. Found: {dtype}")
            n_bytes = math.prod(self.shape) * dtype.itemsize
            layout = self._dataset.id.layout_class
            if n_bytes == 0:
                return np.zeros(self.shape, dtype)[index]
            if layout == _CHUNKED:
                return self._read_chunks(dtype)[index]
            if layout == _COMPACT:
                return self._dataset[index]
            start = self._dataset.id.data_offset if layout == _CONTIGUOUS else 0
            content = self._data[start : start + n_bytes]
            if layout != _CONTIGUOUS or len(content) < n_bytes:
                raise ValueError("Its values were never written, or are elsewhere.")
            return np.frombuffer(content, dtype).reshape(self.shape)[index]

    def text(self) -> str:
        """The value of a dataset that holds one string of variable length."""
        with _naming_damage(f"`{self.name}` is damaged."):
            return self._dataset[()].decode()

    def _read_chunks(self, dtype):
        shape, chunk = self.shape, self._dataset.chunks
        n_bytes = math.prod(chunk) * dtype.itemsize
        if n_bytes > _FREE_CHUNK + 2 * math.prod(shape) * dtype.itemsize:
            raise ValueError("It has chunks of wrong sizes.")
        chunks = self._dataset.id.index
        if len(chunks) != math.prod(-(-n // c) for n, c in zip(shape, chunk)):
            raise ValueError("It lacks a part of its values.")
        filters = _filter_ids(self._dataset.id.filter_pipeline)
        array = np.zeros(shape, dtype)
        for start in itertools.product(*map(range, (0,) * len(shape), shape, chunk)):
            _, mask, first, size = chunks[start]
            if mask:
                raise ValueError("A chunk is out of place.")
            content = self._data[first : first + size]
            content = _unfilter(content, filters, dtype.itemsize, n_bytes)
            values = np.frombuffer(content, dtype).reshape(chunk)
            part = array[tuple(slice(s, s + c) for s, c in zip(start, chunk))]
            part[...] = values[tuple(map(slice, part.shape))]
        return array


def _filter_ids(pipeline):
    ids = [entry["filter_id"] for entry in pipeline or ()]
    for i in ids:
        if i not in (_DEFLATE, _SHUFFLE, _FLETCHER32) or ids.count(i) > 1:
            raise ValueError(
                f"It is stored by the HDF5 filter {i}. Only gzip can be read. {_REWRITE}"
            )
    return ids


def _unfilter(content, filters, itemsize, n_bytes):
    for i in reversed(filters):
        if i == _FLETCHER32:
            content = content[:-4]  # without the checksum, which is not compared
        elif i == _DEFLATE:
            stream = zlib.decompressobj()
            content = memoryview(stream.decompress(content, n_bytes + 4))
            if not stream.eof:
                raise ValueError("A compressed chunk is damaged.")
        else:
            planes = np.frombuffer(content, np.uint8).reshape(itemsize, -1)
            content = np.ascontiguousarray(planes.T).data.cast("B")
    if len(content) != n_bytes:
        raise ValueError("A chunk has the wrong size.")
    return content


@contextlib.contextmanager
def new_hdf5(path: Path, userblock_size: int = 0) -> Iterator["h5py.File"]:
    """A new file, written to `path` at the end: HDF5 itself dies of a full disk.

    The user block, if there is one, gets the SHA-256 of the rest.
    """
    import h5py

    content = io.BytesIO()
    with h5py.File(content, "w", userblock_size=userblock_size) as file:
        yield file
    content = content.getbuffer()
    if userblock_size:
        digest = hashlib.sha256(content[userblock_size:]).digest()
        content[: len(digest)] = digest
    with on_disk(path) as written:
        written.write(content)
