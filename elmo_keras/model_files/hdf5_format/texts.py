"""Texts of variable length, which lie in heaps that all objects share."""

import numpy as np

from elmo_keras.model_files.hdf5_format.cursor import Cursor, Damaged
from elmo_keras.model_files.hdf5_format.datatypes import TEXT, dtype_of, shape_of

_MAX_TEXTS = 2**16  # in a heap, where a text has a number of 2 bytes


def attribute(cursor: Cursor) -> tuple[str, np.void | None]:
    """The name of an attribute and, if it is a text, the argument of `text_at`.

    Raises:
        Damaged: the message is damaged.
    """
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
    """The text that an element of the dtype `TEXT` refers to.

    Raises:
        ValueError: it is missing, or not UTF-8.
    """
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
