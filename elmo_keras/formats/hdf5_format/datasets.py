"""The values of a dataset: its shape and dtype, and where they are stored."""

import math
import zlib

import numpy as np

from elmo_keras.formats.hdf5_format import structures
from elmo_keras.formats.hdf5_format.groups import tree_leaves
from elmo_keras.formats.hdf5_format.structures import Cursor, Damaged

_INTEGER, _FLOAT, _ENUM, _VARIABLE = 0, 1, 8, 9
_CLASSES = (
    "integers/floats/times/strings/bit fields/opaque values/compound values/references/"
    "an enumeration/values of variable length/arrays"
).split("/")
# Size → bits of exponent and mantissa: their places and sizes, and the bias.
_IEEE = {2: (10, 5, 0, 10, 15), 4: (23, 8, 0, 23, 127), 8: (52, 11, 0, 52, 1023)}
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
    cursor = Cursor(body)
    kind = cursor.uint(1) & 15
    bits, size = cursor.uint(3), cursor.uint(4)
    order = ">" if bits & 1 else "<"
    if kind in (_FLOAT, _INTEGER):
        whole = (cursor.uint(2), cursor.uint(2)) == (0, 8 * size)
        if kind == _INTEGER and whole and size in (1, 2, 4, 8):
            return np.dtype(f"{order}{'i' if bits & 8 else 'u'}{size}")
        if kind == _FLOAT:
            fields = *map(cursor.uint, (1, 1, 1, 1)), cursor.uint(4)
            if whole and fields == _IEEE.get(size) and not bits & 64:
                return np.dtype(f"{order}f{size}")
            return f"floats of an unusual kind ({size} bytes)"
    if kind == _ENUM and cursor.left and body[cursor.position] & 15 == _INTEGER:
        base = dtype_of(body[cursor.position :])  # h5py stores booleans so
        if isinstance(base, np.dtype) and base.itemsize == size:
            return base
    if kind == _VARIABLE and bits & 15 == 1 and size == TEXT.itemsize:
        return TEXT
    return _CLASSES[kind] if kind < len(_CLASSES) else "unknown values"


_COMPACT, _CONTIGUOUS, _CHUNKED = range(3)
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3
_REWRITE = (
    """Write the file again: python -c "import h5py; """
    "old, new = h5py.File('OLD'), h5py.File('NEW', 'w'); old.visititems(lambda n, x: "
    """new.__setitem__(n, x[()]) if isinstance(x, h5py.Dataset) else None)\""""
)


class Dataset:
    """An array of a file, of which only the header has been read; `shape` may be None."""

    def __init__(self, data: memoryview, name: str, header: dict[int, memoryview]):
        self.name, self._data = name, data
        self.shape = shape_of(header[structures.DATASPACE])
        self.dtype = dtype_of(header[structures.DATATYPE])
        self._layout = header[structures.LAYOUT]
        self._filters = header.get(structures.FILTERS)
        if structures.EXTERNAL in header:
            raise Damaged(
                "Its values are in other files (external storage). All data should be "
                "in the file itself."
            )
        cursor = Cursor(self._layout)
        cursor.require(3, 4, 5)
        if cursor.uint(1) > _CHUNKED:
            raise Damaged(
                "It is a virtual dataset: its values are in other files. All data "
                "should be in the file itself."
            )

    def __getitem__(self, everything) -> np.ndarray:
        """The values, given `...`; read-only, and not copied where that is possible."""
        if everything is not ...:
            raise IndexError(f"A dataset is read whole, by [...]. Got {everything!r}")
        if self.dtype == TEXT:
            raise ValueError(f"`{self.name}` should hold numbers. Found: strings")
        return self._values()

    def text(self) -> str:
        """The value of a dataset that holds one string of variable length."""
        array = self._values()
        if array.dtype != TEXT or array.size != 1:
            raise ValueError(f"`{self.name}` should hold one string.")
        return text_at(self._data, array.reshape(-1)[0])

    def _values(self):
        found = "no value" if self.shape is None else self.dtype
        if isinstance(found, str):
            raise ValueError(f"`{self.name}` should hold numbers. Found: {found}")
        try:
            filters = filter_ids(self._filters) if self._filters else []
            return self._read(filters)
        except (ValueError, OverflowError, MemoryError) as error:
            raise ValueError(f"`{self.name}` is damaged. {error}") from error

    def _read(self, filters):
        """The values, which are not copied if they lie in one piece."""
        cursor, shape, dtype = Cursor(self._layout), self.shape, self.dtype
        version, kind = cursor.uint(1), cursor.uint(1)
        size = math.prod(shape) * dtype.itemsize
        if size == 0:
            return np.zeros(shape, dtype)
        if kind == _CHUNKED:
            chunks = _chunks if version == 3 else _single_chunk
            found = chunks(self._data, cursor, shape, dtype)
            return _assembled(found, filters, shape, dtype)
        if kind == _COMPACT:
            cursor.take(2)  # its size
        elif (address := cursor.address()) is None:
            raise Damaged("It was never written.")
        else:
            cursor = Cursor(self._data, address)
        return np.frombuffer(cursor.take(size), dtype).reshape(shape)


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


def _unfiltered(content, filters, itemsize, size):
    for identity in reversed(filters):
        if identity == _FLETCHER32:
            content = content[:-4]  # without the checksum, which is not compared
        elif identity == _DEFLATE:
            stream = zlib.decompressobj()
            try:
                content = memoryview(stream.decompress(content, size + 4))
            except zlib.error as error:
                raise Damaged(f"A compressed chunk is damaged. {error}") from error
            if not stream.eof:
                raise Damaged("A compressed chunk is damaged.")
        elif len(content) % itemsize:
            raise Damaged("A chunk has the wrong size.")
        else:
            planes = np.frombuffer(content, np.uint8).reshape(itemsize, -1)
            content = memoryview(np.ascontiguousarray(planes.T)).cast("B")
    if len(content) != size:
        raise Damaged("A chunk has the wrong size.")
    return content


_SINGLE_CHUNK, _FILTERED = 1, 2  # an index and a flag of version 4
_FREE_CHUNK = 2**24  # bytes that a chunk may have; above, twice those of its array


def _assembled(chunks, filters, shape, dtype):
    """The array of chunks, which come with their place and shape."""
    array, missing = np.zeros(shape, dtype), None
    for place, content, chunk in chunks:
        if missing is None:
            missing = math.prod(-(-n // c) for n, c in zip(shape, chunk))
        missing -= 1
        size = math.prod(chunk) * dtype.itemsize
        content = _unfiltered(content, filters, dtype.itemsize, size)
        part = array[tuple(slice(p, p + c) for p, c in zip(place, chunk))]
        values = np.frombuffer(content, dtype).reshape(chunk)
        part[...] = values[tuple(map(slice, part.shape))]
    if missing != 0:
        raise Damaged("It lacks a part of its values.")
    return array


def _chunks(data, cursor, shape, dtype):
    rank = cursor.uint(1)
    tree = cursor.address()
    chunk = _chunk_shape([cursor.uint(4) for _ in range(rank)], shape, dtype)
    if tree is None:
        return
    seen = set()
    leaves = tree_leaves(data, tree, kind=1, key_size=8 + 8 * rank, keys=True)
    for key, address in leaves:
        key = Cursor(key)
        size, mask = key.uint(4), key.uint(4)
        place = tuple(key.uint(8) for _ in chunk)
        inside = all(p < n and p % c == 0 for p, n, c in zip(place, shape, chunk))
        if mask or not inside or place in seen:
            raise Damaged("A chunk is out of place.")
        seen.add(place)
        yield place, Cursor(data, address).take(size), chunk


def _single_chunk(data, cursor, shape, dtype):
    """As `_chunks`, in a layout of HDF5 1.10 and later, if there is only one."""
    flags, rank, width = cursor.uint(1), cursor.uint(1), cursor.uint(1)
    sizes = [cursor.uint(width) for _ in range(rank)]
    chunk = _chunk_shape(sizes, shape, dtype)
    if cursor.uint(1) != _SINGLE_CHUNK:
        raise Damaged(f"It has chunks in the layout of HDF5 1.10. {_REWRITE}")
    size = math.prod(sizes)
    if flags & _FILTERED:
        size = cursor.uint(8)
        if cursor.uint(4):
            raise Damaged("A chunk is out of place.")
    address = cursor.address()
    if address is not None:
        yield (0,) * len(chunk), Cursor(data, address).take(size), chunk


def _chunk_shape(sizes, shape, dtype):
    *chunk, item = sizes or [0]
    is_sound = len(chunk) == len(shape) and item == dtype.itemsize and all(chunk)
    most = _FREE_CHUNK + 2 * math.prod(shape) * dtype.itemsize
    if not is_sound or math.prod(sizes) > most:
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
            raise Damaged("A chunk has the wrong size.")
        cursor.take(min(cursor.left, -size % 8))
    raise Damaged("It lacks a text.")
