"""Tensors of PyTorch's `torch.save`, read without PyTorch.

A pickle can name any function of Python to be called: here only the few functions that a
dictionary of tensors needs are called, and all others are refused. Memory has no limit.
"""

import collections
import functools
import io
import math
import pickle
import zipfile
from typing import NamedTuple

import numpy as np

from elmo_keras.base.files import naming_damage

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # the format before 2020
_MAX_PICKLE = 2**20  # bytes of a pickle without the tensors' values
_DTYPES = {"DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2"}


class _Storage(NamedTuple):
    key: str
    dtype: np.dtype
    count: int


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_tensors(content: bytes, name: str) -> dict[str, np.ndarray]:
    """The tensors of a file of `torch.save`, before 2020 or since; mostly views of it."""
    with naming_damage(
        f"{name} should be a complete dictionary of tensors, saved by torch.save. Get "
        "the file again."
    ):
        read = _read_zip if content[:4] == b"PK\3\4" else _read_pickles
        tensors, values = read(content)
        if not isinstance(tensors, dict):
            raise ValueError(f"It holds a {type(tensors).__name__}.")
        arrays = {key: _array(key, tensors[key], values) for key in tensors}
        if sum(array.nbytes for array in arrays.values()) > len(content):
            raise ValueError("Its tensors are larger than the file.")
        return arrays


def _read_zip(content):
    """The unpickled object, and key → bytes of its storages, from a zip."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        pickled = next((name for name in sizes if name.endswith("/data.pkl")), None)
        if pickled is None:
            raise ValueError("It is a zip without data.pkl.")
        if sizes[pickled] > _MAX_PICKLE or sum(sizes.values()) > len(content):
            raise ValueError("It is larger unpacked than its own size.")
        folder = pickled.removesuffix("data.pkl")
        order = f"{folder}byteorder"
        if order in sizes and archive.read(order) != b"little":
            raise ValueError("Its byte order should be little.")
        tensors = _unpickle(io.BytesIO(archive.read(pickled)))
        keys = _storages(tensors)
        return tensors, {key: archive.read(f"{folder}data/{key}") for key in keys}


def _read_pickles(content):
    """The same from pickles in a row and the values after them."""
    file = io.BytesIO(content)
    if [_unpickle(file) for _ in range(2)] != [_MAGIC, _PROTOCOL]:
        raise ValueError("It starts with other numbers.")
    if not _unpickle(file).get("little_endian", True):
        raise ValueError("Its byte order should be little.")
    tensors = _unpickle(file)
    storages, values = _storages(tensors), {}
    for key in _unpickle(file):
        count = int.from_bytes(file.read(8), "little")
        if not isinstance(key, str) or key not in storages:
            raise ValueError("It holds values of no tensor.")
        first, size = file.tell(), count * storages[key].dtype.itemsize
        values[key] = memoryview(content)[first : first + size]
        file.seek(first + size)
    return tensors, values


def _storages(tensors):
    values = tensors.values() if isinstance(tensors, dict) else []
    storages = (value.storage for value in values if isinstance(value, _Tensor))
    return {storage.key: storage for storage in storages}


def _array(name, tensor, values):
    if not isinstance(tensor, _Tensor):
        raise ValueError(f"{name!r} is a {type(tensor).__name__}, not a tensor.")
    storage, data = tensor.storage, values[tensor.storage.key]
    if len(data) != storage.count * storage.dtype.itemsize:
        raise ValueError(
            f"{name!r} should have {storage.count:,} values. Its bytes: {len(data):,}"
        )
    steps = zip(tensor.shape, tensor.strides, strict=True)
    last = tensor.offset + sum((size - 1) * stride for size, stride in steps)
    smallest = min(tensor.offset, *tensor.shape, *tensor.strides, 1)
    is_part = last < storage.count and math.prod(tensor.shape) <= storage.count
    if smallest < 0 or 0 in tensor.shape or not is_part:
        raise ValueError(f"{name!r} is not within its {storage.count:,} values.")
    flat = np.frombuffer(data, storage.dtype)[tensor.offset :]
    strides = [stride * storage.dtype.itemsize for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(flat, tensor.shape, strides, writeable=False)


class _Unpickler(pickle.Unpickler):
    """Calls only the functions that make tensors and their dictionary."""

    def find_class(self, module, name):
        if (module, name) in _FUNCTIONS:
            # Not the function itself, whose attributes a pickle can set.
            return functools.partial(_FUNCTIONS[module, name])
        if module == "torch" and name in _DTYPES:
            return name
        raise ValueError(f"It asks for {module}.{name}, which no float tensors need.")

    def persistent_load(self, reference):
        """The storage that a tensor refers to."""
        tag, dtype, key, _, count, *view = reference
        is_known = tag == "storage" and isinstance(key, str) and dtype in [*_DTYPES]
        if not is_known or view not in ([], [None]) or not _is_size(count):
            raise ValueError("It refers to an unknown storage.")
        return _Storage(key, np.dtype(_DTYPES[dtype]), count)


def _unpickle(file):
    """The object of the next pickle, which holds names and shapes, no values."""
    start = file.tell()
    pickled = io.BytesIO(file.read(_MAX_PICKLE))
    value = _Unpickler(pickled, encoding="latin-1").load()
    file.seek(start + pickled.tell())
    return value


def _rebuild(storage, offset, shape, strides, *_):
    """A tensor, from the arguments of PyTorch's functions that rebuild one."""
    sizes = (offset, *shape, *strides)
    if not isinstance(storage, _Storage) or not all(map(_is_size, sizes)):
        raise ValueError("A tensor has no storage or no sizes.")
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


def _is_size(value):
    return isinstance(value, int) and 0 <= value < 2**40


_FUNCTIONS = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("torch._utils", "_rebuild_tensor"): _rebuild,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild,
    ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor,
}
