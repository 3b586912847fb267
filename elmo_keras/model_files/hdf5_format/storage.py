"""The values of a dataset: in one piece, or in chunks that may be compressed."""

import math
import zlib

import numpy as np

from elmo_keras.model_files.hdf5_format.cursor import Cursor, Damaged
from elmo_keras.model_files.hdf5_format.groups import tree_leaves

_COMPACT, _CONTIGUOUS, _CHUNKED = range(3)
_SINGLE_CHUNK, _FILTERED = 1, 2  # of version 4
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3
_FREE_CHUNK = 2**24  # bytes that a chunk may have; above, twice those of its array


def read(
    data: memoryview,
    layout: memoryview,
    filters: list[int],
    *,
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> np.ndarray:
    """The values of a dataset; not copied if they lie in one piece.

    Args:
        data: the file, from the address 0 on.
        layout: the body of the dataset's layout message.
        filters: from `filter_ids`.
        shape, dtype: of the dataset.

    Raises:
        Damaged: the values are not, or not completely, in the file.
    """
    cursor = Cursor(layout)
    version, kind = cursor.require(3, 4), cursor.uint(1)
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    if kind != _CHUNKED:
        whole = _compact(cursor) if kind == _COMPACT else _contiguous(data, cursor)
        return np.frombuffer(whole.take(size), dtype).reshape(shape)
    chunks = _chunks_4 if version == 4 else _chunks_3
    array, n_chunks = np.zeros(shape, dtype), 0
    for place, content, chunk in chunks(data, cursor, array):
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
    """Refuses a virtual dataset.

    Raises:
        Damaged: it is one, or the layout is damaged.
    """
    cursor = Cursor(layout)
    cursor.require(3, 4)
    if cursor.uint(1) > _CHUNKED:
        raise Damaged(
            "It is a virtual dataset: its values are in other files. All data should be "
            "in the file itself."
        )


def filter_ids(body: memoryview) -> list[int]:
    """The filters of a filter message, in the order in which they were applied.

    Raises:
        Damaged: there is another filter than gzip, shuffle and checksum.
    """
    cursor = Cursor(body)
    version, count = cursor.require(1, 2), cursor.uint(1)
    cursor.take(6 if version == 1 else 0)
    found = []
    for _ in range(count):
        identity = cursor.uint(2)
        if identity not in (_DEFLATE, _SHUFFLE, _FLETCHER32) or identity in found:
            raise Damaged(
                f"It is compressed by the HDF5 filter {identity}. Only gzip can be read: "
                "write the file again with compression='gzip' or without."
            )
        name_size = cursor.uint(2) if version == 1 else 0
        cursor.take(2)
        n_values = cursor.uint(2)
        n_values += n_values % 2 if version == 1 else 0
        cursor.take(-(-name_size // 8) * 8 + 4 * n_values)
        found.append(identity)
    return found


def _chunks_3(data, cursor, array):
    """Yields (place, bytes, shape) of each chunk."""
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


def _chunks_4(data, cursor, array):
    """The same for the layout of HDF5 1.10 and later, if there is a single chunk."""
    flags, rank, width = cursor.uint(1), cursor.uint(1), cursor.uint(1)
    chunk = _chunk_shape([cursor.uint(width) for _ in range(rank)], array)
    if cursor.uint(1) != _SINGLE_CHUNK:
        raise Damaged(
            "It has chunks in the layout of HDF5 1.10. Write the file again with "
            "libver='earliest', or without chunks."
        )
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


def _unfiltered(content, filters, dtype, *, count):
    size = count * dtype.itemsize
    for identity in reversed(filters):
        if identity == _FLETCHER32:
            content = content[:-4]  # the checksum, which is not compared
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
