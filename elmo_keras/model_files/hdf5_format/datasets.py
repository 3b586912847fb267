"""The values of a dataset: its shape and dtype, and where they are stored."""

import math
import zlib

import numpy as np

from elmo_keras.model_files.hdf5_format.groups import tree_leaves
from elmo_keras.model_files.hdf5_format.structures import Cursor, Damaged

_INTEGER, _FLOAT, _ENUM, _VARIABLE = 0, 1, 8, 9
_CLASSES = (
    "integers",
    "floats",
    "times",
    "strings",
    "bit fields",
    "opaque values",
    "compound values",
    "references",
    "an enumeration",
    "values of variable length",
    "arrays",
)
# Size → bits of exponent and mantissa: their places and sizes, and the bias.
_IEEE = {
    2: (10, 5, 0, 10, 15),
    4: (23, 8, 0, 23, 127),
    8: (52, 11, 0, 52, 1023),
}
_MAX_RANK = 32
_NULL = 2
# A string of variable length: its length, the address of its heap, and its index there.
TEXT = np.dtype([("size", "<u4"), ("heap", "<u8"), ("index", "<u4")])


def shape_of(body: memoryview) -> tuple[int, ...] | None:
    """The shape in a dataspace message; None for a dataset without a value."""
    cursor = Cursor(body)
    version, rank = cursor.require(1, 2), cursor.uint(1)
    cursor.take(1)
    if version == 1:
        cursor.take(5)
    elif cursor.uint(1) == _NULL:
        return None
    if rank > _MAX_RANK:
        raise Damaged("A dataset has too many axes.")
    return tuple(cursor.uint(8) for _ in range(rank))


def dtype_of(body: memoryview) -> np.dtype | str:
    """The dtype in a datatype message; a description of what NumPy arrays don't hold."""
    return _dtype(Cursor(body))


def _dtype(cursor):
    kind = cursor.uint(1) & 15
    bits, size = cursor.uint(3), cursor.uint(4)
    if kind == _FLOAT:
        return _float(cursor, bits, size)
    if kind == _INTEGER:
        whole = (cursor.uint(2), cursor.uint(2)) == (0, 8 * size)
        if size in (1, 2, 4, 8) and whole:
            letter = "i" if bits & 8 else "u"
            return np.dtype(f"{'>' if bits & 1 else '<'}{letter}{size}")
    if kind == _ENUM:  # h5py stores booleans so
        base = _dtype(cursor)
        return base if isinstance(base, np.dtype) and base.itemsize == size else "enum"
    if kind == _VARIABLE and bits & 15 == 1 and size == TEXT.itemsize:
        return TEXT
    return _CLASSES[kind] if kind < len(_CLASSES) else "unknown values"


def _float(cursor, bits, size):
    whole = (cursor.uint(2), cursor.uint(2)) == (0, 8 * size)
    fields = *(cursor.uint(1) for _ in range(4)), cursor.uint(4)
    if whole and fields == _IEEE.get(size) and not bits & 64:
        return np.dtype(f"{'>' if bits & 1 else '<'}f{size}")
    return f"floats of an unusual kind ({size} bytes)"


_COMPACT, _CONTIGUOUS, _CHUNKED = range(3)
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3
_REWRITE = (
    """Write the file again: python -c "import h5py; """
    "old, new = h5py.File('OLD'), h5py.File('NEW', 'w'); old.visititems(lambda n, x: "
    """new.__setitem__(n, x[()]) if isinstance(x, h5py.Dataset) else None)\""""
)


def read(
    data: memoryview,
    layout: memoryview,
    filters: list[int],
    *,
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> np.ndarray:
    """The values of a dataset; not copied if they lie in one piece."""
    cursor = Cursor(layout)
    version, kind = cursor.require(3, 4), cursor.uint(1)
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    if kind != _CHUNKED:
        whole = _compact(cursor) if kind == _COMPACT else _contiguous(data, cursor)
        return np.frombuffer(whole.take(size), dtype).reshape(shape)
    array, n_chunks = np.zeros(shape, dtype), 0
    for place, content, chunk in _chunks(data, version, cursor, array):
        values = _unfiltered(content, filters, dtype, count=math.prod(chunk))
        _put(array, place, values.reshape(chunk))
        n_chunks += 1
    expected = math.prod(-(-n // c) for n, c in zip(shape, chunk)) if n_chunks else 1
    if n_chunks != expected:
        raise Damaged("It lacks a part of its values.")
    return array


def _compact(cursor):
    cursor.take(2)  # its size
    return cursor


def _contiguous(data, cursor):
    address = cursor.address()
    if address is None:
        raise Damaged("It was never written.")
    return Cursor(data, address)


def check_layout(layout: memoryview) -> None:
    """Refuses a virtual dataset."""
    cursor = Cursor(layout)
    cursor.require(3, 4)
    if cursor.uint(1) > _CHUNKED:
        raise Damaged(
            "It is a virtual dataset: its values are in other files. All data should be "
            "in the file itself."
        )


def filter_ids(body: memoryview) -> list[int]:
    """The filters of a filter message, in the order in which they were applied."""
    cursor = Cursor(body)
    version, count = cursor.require(1, 2), cursor.uint(1)
    cursor.take(6 if version == 1 else 0)
    found = []
    for _ in range(count):
        identity = cursor.uint(2)
        if identity not in (_DEFLATE, _SHUFFLE, _FLETCHER32) or identity in found:
            raise Damaged(
                f"It is stored by the HDF5 filter {identity}. Only gzip can be read. "
                f"{_REWRITE}"
            )
        name_size = cursor.uint(2) if version == 1 else 0
        cursor.take(2)
        n_values = cursor.uint(2)
        n_values += n_values % 2 if version == 1 else 0
        cursor.take(-(-name_size // 8) * 8 + 4 * n_values)
        found.append(identity)
    return found


def _unfiltered(content, filters, dtype, *, count):
    size = count * dtype.itemsize
    for identity in reversed(filters):
        if identity == _FLETCHER32:
            content = content[:-4]  # without the checksum, which is not compared
        elif identity == _DEFLATE:
            content = _inflated(content, size + 4)
        else:
            content = _unshuffled(content, dtype.itemsize)
    if len(content) != size:
        raise Damaged("A chunk has the wrong size.")
    return np.frombuffer(content, dtype)


def _inflated(content, limit):
    try:
        stream = zlib.decompressobj()
        inflated = stream.decompress(content, limit)
    except zlib.error as error:
        raise Damaged(f"A compressed chunk is damaged. {error}") from error
    if not stream.eof:
        raise Damaged("A compressed chunk is damaged.")
    return memoryview(inflated)


def _unshuffled(content, itemsize):
    if len(content) % itemsize:
        raise Damaged("A chunk has the wrong size.")
    planes = np.frombuffer(content, np.uint8).reshape(itemsize, -1)
    return memoryview(np.ascontiguousarray(planes.T)).cast("B")


def _put(array, place, values):
    target = tuple(slice(p, p + c) for p, c in zip(place, values.shape))
    part = array[target]
    part[...] = values[tuple(slice(n) for n in part.shape)]


_SINGLE_CHUNK, _FILTERED = 1, 2  # an index and a flag of version 4
_FREE_CHUNK = 2**24  # bytes that a chunk may have; above, twice those of its array


def _chunks(data, version, cursor, array):
    """Yields the place, the stored bytes and the shape of each chunk."""
    if version == 4:
        yield from _single_chunk(data, cursor, array)
        return
    rank = cursor.uint(1)
    tree = cursor.address()
    chunk = _chunk_shape([cursor.uint(4) for _ in range(rank)], array)
    if tree is None:
        return
    seen = set()
    leaves = tree_leaves(data, tree, kind=1, key_size=8 + 8 * rank, keys=True)
    for key, address in leaves:
        key = Cursor(key)
        size, mask = key.uint(4), key.uint(4)
        place = tuple(key.uint(8) for _ in chunk)
        inside = all(p < n and p % c == 0 for p, n, c in zip(place, array.shape, chunk))
        if mask or not inside or place in seen:
            raise Damaged("A chunk is out of place.")
        seen.add(place)
        yield place, Cursor(data, address).take(size), chunk


def _single_chunk(data, cursor, array):
    """The chunk of a layout of HDF5 1.10 and later, if there is only one."""
    flags, rank, width = cursor.uint(1), cursor.uint(1), cursor.uint(1)
    chunk = _chunk_shape([cursor.uint(width) for _ in range(rank)], array)
    if cursor.uint(1) != _SINGLE_CHUNK:
        raise Damaged(f"It has chunks in the layout of HDF5 1.10. {_REWRITE}")
    size = math.prod(chunk) * array.itemsize
    if flags & _FILTERED:
        size = cursor.uint(8)
        if cursor.uint(4):
            raise Damaged("A chunk is out of place.")
    address = cursor.address()
    if address is not None:
        yield (0,) * len(chunk), Cursor(data, address).take(size), chunk


def _chunk_shape(sizes, array):
    *chunk, item = sizes or [0]
    is_sound = len(chunk) == array.ndim and item == array.itemsize and all(chunk)
    if not is_sound or math.prod(sizes) > _FREE_CHUNK + 2 * array.nbytes:
        raise Damaged("A dataset has chunks of wrong sizes.")
    return tuple(chunk)


_MAX_TEXTS = 2**16  # in a heap, where a text has a number of 2 bytes


def attribute(cursor: Cursor) -> tuple[str, np.void | None]:
    """The name of an attribute and, if it is a text, the argument of `text_at`."""
    version = cursor.require(1, 2, 3)
    cursor.take(1)
    sizes = [cursor.uint(2) for _ in range(3)]
    cursor.take(1 if version == 3 else 0)
    if version == 1:
        sizes = [-(-size // 8) * 8 for size in sizes]
    name, dtype, shape = (cursor.take(size) for size in sizes)
    name = bytes(name).partition(b"\0")[0].decode(errors="replace")
    if dtype_of(dtype) != TEXT or shape_of(shape) != ():
        return name, None
    return name, np.frombuffer(cursor.take(TEXT.itemsize), TEXT)[0]


def text_at(data: memoryview, value: np.void) -> str:
    """The text that an element of the dtype `TEXT` refers to."""
    cursor = Cursor(data, int(value["heap"]))
    cursor.expect(b"GCOL")
    cursor.require(1)
    cursor.take(3)
    cursor = Cursor(Cursor(data, int(value["heap"])).take(cursor.uint(8)), 16)
    for _ in range(_MAX_TEXTS):
        index = cursor.uint(2)
        cursor.take(6)
        size = cursor.uint(8)
        content = cursor.take(size)
        if index == value["index"]:
            return bytes(content[: int(value["size"])]).decode()
        if not index:
            break
        cursor.take(min(cursor.left, -size % 8))
    raise Damaged("It lacks a text.")
