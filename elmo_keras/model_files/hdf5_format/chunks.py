"""The chunks that an array is stored in."""

import math
from collections.abc import Iterator

import numpy as np

from elmo_keras.model_files.hdf5_format.cursor import Cursor, Damaged
from elmo_keras.model_files.hdf5_format.groups import tree_leaves

_SINGLE_CHUNK, _FILTERED = 1, 2  # of version 4
_FREE_CHUNK = 2**24  # bytes that a chunk may have; above, twice those of its array


def chunks(
    data: memoryview, version: int, cursor: Cursor, *, array: np.ndarray
) -> Iterator[tuple[tuple[int, ...], memoryview, tuple[int, ...]]]:
    """Yields the place, the stored bytes and the shape of each chunk.

    Args:
        data: the file, from the address 0 on.
        version: of the layout message.
        cursor: in the layout message, after its kind.
        array: an array of the shape and dtype of the dataset.

    Raises:
        Damaged: a chunk is out of place, or of a size that no array needs.
    """
    return (_chunks_4 if version == 4 else _chunks_3)(data, cursor, array)


def _chunks_3(data, cursor, array):
    """The chunks of a layout of version 3: in a tree."""
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
    """The chunk of a layout of HDF5 1.10 and later, if there is only one."""
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
