"""HDF5 files: read by pyfive within bounds, and written whole.

pyfive reads the structures, of which each object has a limit. Values are read here: those
in one piece stay mapped into memory, and a chunk inflates to its size and no further.
"""

import contextlib
import hashlib
import io
import math
import mmap
import os
import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from pyfive.btree import BTreeV1RawDataChunks
from pyfive.dataobjects import DataObjects
from pyfive.misc_low_level import GlobalHeap, SuperBlock
from pyfive.p5t import P5EnumType, P5FloatType, P5IntegerType, P5VlenStringType

from elmo_keras.formats.packed import join_scales

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DATATYPE, _EXTERNAL = 3, 7  # types of messages in the header of an object
_COMPACT, _CONTIGUOUS, _CHUNKED = range(3)
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3  # filters
_EXPONENT_BIAS = {2: 15, 4: 127, 8: 1023}  # of IEEE floats; bfloat16 has 127
_MAX_OBJECTS, _MAX_DEPTH = 10_000, 32
_MAX_STRUCTURE, _MAX_STRUCTURES = 2**20, 2**25  # bytes of an object, of all objects
_LEAST_READ = 64  # bytes that a shorter read counts as, so that many of them end, too
_FREE_CHUNK = 2**24  # bytes that a chunk may have; above, twice those of its array
_REWRITE = (
    """Write the file again: python -c "import h5py; """
    "old, new = h5py.File('OLD'), h5py.File('NEW', 'w'); old.visititems(lambda n, x: "
    """new.__setitem__(n, x[()]) if isinstance(x, h5py.Dataset) else None)\""""
)


def open_hdf5(source: str | Path | bytes, name: str = "") -> "Hdf5File":
    """The datasets of a file that nobody vouches for, or of its content with a name."""
    name = name or str(source)
    try:
        return Hdf5File(source)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {name}.") from None
    except Exception as error:  # pyfive raises all kinds where structures are damaged
        reason = _reason(error)
        raise ValueError(f"{name} should be an HDF5 file. {reason}") from error


class Hdf5File:
    """The datasets and the texts of an HDF5 file.

    It refuses what refers to other files: external storage, virtual datasets, soft and
    external links.
    """

    def __init__(self, source: str | Path | bytes):
        content = source if isinstance(source, bytes) else _map(source)
        self._data = _without_user_block(memoryview(content))
        structures = _Structures(self._data)
        structures.start_object()
        root = SuperBlock(structures, 0).offset_to_dataobjects
        self._root = DataObjects(structures, root)
        datasets = _datasets(self._data, structures, self._root, {root})
        self.datasets = join_scales(datasets)

    def text_attribute(self, name: str) -> str | None:
        """The attribute of a name; None if there is none that is a text."""
        with _naming_damage(f"The attribute `{name}`"):
            with warnings.catch_warnings(action="ignore"):
                value = self._root.get_attributes().get(name)
            return value.decode() if isinstance(value, bytes) else None


def _map(path):
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size  # an empty file can't be mapped
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""


def _reason(error):
    text = " ".join(str(error).split())[:500]
    return text or "A structure in it is damaged, or a link to another file."


@contextlib.contextmanager
def _naming_damage(name):
    try:
        yield
    except Exception as error:  # see `open_hdf5`
        raise ValueError(f"{name} is damaged. {_reason(error)}") from error


def _without_user_block(data):
    start = 0
    while data[start : start + 8] != _SIGNATURE:
        start = start * 2 or 512
        if start + 8 > len(data):
            raise ValueError("It has no HDF5 signature.")
    version = data[start + 8]
    (end,) = struct.unpack_from("<Q", data, start + (40 if version == 0 else 28))
    if end > len(data):
        raise ValueError("It ends too early.")
    return data[start:]


class _Structures:
    """The bytes of a file as a stream for pyfive, which reads a limited number of them."""

    def __init__(self, data: memoryview, limit: int = _MAX_STRUCTURES):
        self._data, self._position = data, 0
        self._left_of_object = self._left = limit

    def start_object(self) -> None:
        self._left_of_object = _MAX_STRUCTURE

    def seek(self, position: int) -> None:
        self._position = position

    def read(self, size: int) -> bytes:
        part = self._data[self._position : self._position + size]
        self._position += len(part)
        self._left -= max(_LEAST_READ, len(part))
        self._left_of_object -= max(_LEAST_READ, len(part))
        if min(self._left, self._left_of_object) < 0:
            raise ValueError("It has too much in its structures, which weights don't.")
        return bytes(part)


def _datasets(data, structures, root, seen) -> dict[str, "Dataset"]:
    datasets, groups = {}, [("", root)]
    while groups:
        path, group = groups.pop()
        structures.start_object()
        for name, address in group.get_links().items():
            name = f"{path}{name}"
            if isinstance(address, str):
                raise ValueError(
                    f"`{name}` is a soft link. All data should be in the file itself."
                )
            if address in seen or len(seen) == _MAX_OBJECTS:
                raise ValueError("It holds an object twice, or too many.")
            if path.count("/") > _MAX_DEPTH:
                raise ValueError("It has too many groups within each other.")
            seen.add(address)
            structures.start_object()
            header = DataObjects(structures, address)
            if header.is_dataset:
                datasets[name] = Dataset(data, name, header)
            else:
                groups.append((f"{name}/", header))
    return datasets


class Dataset:
    """An array of a file, of which only the header has been read; `shape` may be None."""

    def __init__(self, data: memoryview, name: str, header: Any):  # `DataObjects`
        self.name, self.shape = name, header.shape
        self._data, self._header = data, header
        # Where the version of the layout lies in the header, its class, and the rest.
        self._start, self._layout, self._place = header.get_id_storage_params()
        if header.find_msg_type(_EXTERNAL) or self._layout > _CHUNKED:
            raise ValueError(
                f"The values of `{name}` are in other files (external storage or a "
                "virtual dataset). All data should be in the file itself."
            )

    def __getitem__(self, index) -> np.ndarray:
        """The values; read-only, and not copied where that is possible."""
        with _naming_damage(f"`{self.name}`"):
            if self.shape is None:
                raise ValueError("It should hold numbers. Found: no value")
            dtype = self._dtype()
            n_bytes = math.prod(self.shape) * dtype.itemsize
            if n_bytes == 0:
                return np.zeros(self.shape, dtype)[index]
            if self._layout == _CHUNKED:
                return self._read_chunks(self.shape, dtype)[index]
            content = self._read(n_bytes)
            return np.frombuffer(content, dtype).reshape(self.shape)[index]

    def _dtype(self):
        stored = self._header.ptype
        if not isinstance(stored, P5IntegerType | P5FloatType | P5EnumType):
            raise ValueError(f"It should hold numbers. Found: {stored.dtype}")
        dtype = np.dtype(stored.dtype.str)
        start = self._header.find_msg_type(_DATATYPE)[0]["offset_to_message"]
        (bias,) = struct.unpack_from("<I", self._header.msg_data, start + 16)
        if dtype.kind == "f" and bias != _EXPONENT_BIAS.get(dtype.itemsize):
            raise ValueError("It should hold numbers. Found: floats not of IEEE 754")
        return dtype

    def text(self) -> str:
        """The value of a dataset that holds one string of variable length."""
        with _naming_damage(f"`{self.name}`"):
            if not isinstance(self._header.ptype, P5VlenStringType) or self.shape != ():
                raise ValueError("It should hold one string.")
            size, heap, index = struct.unpack("<IQI", self._read(16))
            structures = _Structures(self._data, len(self._data) + _MAX_STRUCTURE)
            return GlobalHeap(structures, heap).objects[index][:size].decode()

    def _read(self, n_bytes):
        """Values that lie in one piece, in the header itself or elsewhere."""
        data, start = self._header.msg_data, self._place + 2  # after the size
        if self._layout == _CONTIGUOUS:
            (start,) = struct.unpack_from("<Q", data, self._place)
            data = self._data
        if start + n_bytes > len(data):
            raise ValueError("It was never written, or the file ends too early.")
        return data[start : start + n_bytes]

    def _read_chunks(self, shape, dtype):
        header, data = self._header, self._data
        if header.msg_data[self._start] != 3:
            raise ValueError(f"It has chunks in the layout of HDF5 1.10. {_REWRITE}")
        rank, address = struct.unpack_from("<BQ", header.msg_data, self._place)
        sizes = struct.unpack_from(f"<{rank}I", header.msg_data, self._place + 9)
        *chunk, itemsize = sizes
        fits = len(chunk) == len(shape) and itemsize == dtype.itemsize and all(chunk)
        n_bytes, n_values = math.prod(sizes), math.prod(shape)
        if not fits or n_bytes > _FREE_CHUNK + 2 * n_values * itemsize:
            raise ValueError("It has chunks of wrong sizes.")
        n_chunks = math.prod(-(-n // c) for n, c in zip(shape, chunk))
        index_size = n_chunks * (16 + 8 * rank)
        if max(address, index_size) > len(data):
            raise ValueError("It lacks a part of its values.")
        filters = _filter_ids(header)
        structures = _Structures(data, _MAX_STRUCTURE + 4 * index_size)
        tree = BTreeV1RawDataChunks(structures, address, rank)
        array, starts = np.zeros(shape, dtype), set()
        for node in tree.all_nodes[0]:
            for key, address in zip(node["keys"], node["addresses"]):
                start = key["chunk_offset"][:-1]
                inside = all(
                    s < n and s % c == 0 for s, n, c in zip(start, shape, chunk)
                )
                if key["filter_mask"] or not inside or start in starts:
                    raise ValueError("A chunk is out of place.")
                starts.add(start)
                content = data[address : address + key["chunk_size"]]
                content = _unfilter(content, filters, itemsize, n_bytes)
                values = np.frombuffer(content, dtype).reshape(chunk)
                part = array[tuple(slice(s, s + c) for s, c in zip(start, chunk))]
                part[...] = values[tuple(map(slice, part.shape))]
        if len(starts) < n_chunks:
            raise ValueError("It lacks a part of its values.")
        return array


def _filter_ids(header):
    ids = [entry["filter_id"] for entry in header.filter_pipeline or ()]
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
def new_hdf5(path: Path, userblock_size: int = 0) -> Iterator[h5py.File]:
    """A new file, written to `path` at the end: HDF5 itself dies of a full disk.

    The user block, if there is one, gets the SHA-256 of the rest.
    """
    content = io.BytesIO()
    with h5py.File(content, "w", userblock_size=userblock_size) as file:
        yield file
    content = content.getbuffer()
    if userblock_size:
        digest = hashlib.sha256(content[userblock_size:]).digest()
        content[: len(digest)] = digest
    with path.open("wb") as written:
        written.write(content)
        written.flush()
        os.fsync(written.fileno())
