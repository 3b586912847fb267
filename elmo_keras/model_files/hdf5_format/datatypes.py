"""The shape and the dtype of a dataset."""

import numpy as np

from elmo_keras.model_files.hdf5_format.cursor import Cursor, Damaged

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
    """The shape in a dataspace message; None for a dataset without a value.

    Raises:
        Damaged: the message is damaged.
    """
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
    """The dtype in a datatype message; a description of what NumPy arrays don't hold.

    Raises:
        Damaged: the message is damaged.
    """
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
