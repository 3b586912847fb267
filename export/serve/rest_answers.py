"""Arrays as JSON, in pieces.

A piece is written in one call, which other threads have to wait for: orjson holds the
interpreter while it works. Pieces are small, so that nobody waits for long.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import orjson

from .joining import Arrays

PIECE = 2**14  # elements that are written in one call: about a millisecond
BLOCK = 2**18  # bytes that are sent at once
AT_ONCE = 2**24  # bytes that are written before the first are sent


class Content(NamedTuple):
    """The content of an answer.

    Attributes:
        blocks: its parts, at least one.
        more: further parts, which are written when they are taken, or None.
    """

    blocks: list[bytes]
    more: Iterator[bytes] | None = None


def content(pieces: Iterable[bytes]) -> Content:
    """Content of pieces; of much of it only the beginning is written at once."""
    blocks, found, size = _blocks(pieces), [], 0
    for block in blocks:
        found.append(block)
        size += len(block)
        if size >= AT_ONCE:
            return Content(found, blocks)
    return Content(found)


def _blocks(pieces):
    """Pieces in fewer and larger parts."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= BLOCK:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def row_pieces(outputs: Arrays) -> Iterator[bytes]:
    """The answer to a request in row form: all outputs of a sentence together.

    A single output is given without its name.
    """
    if len(outputs) == 1:
        (column,) = outputs.values()
        return _object({b'"predictions"': _array(column)})
    names = [orjson.dumps(name) for name in outputs]
    rows = (
        _object({name: _array(value) for name, value in zip(names, row)})
        for row in zip(*outputs.values())
    )
    return _object({b'"predictions"': _list(rows)})


def column_pieces(outputs: Arrays) -> Iterator[bytes]:
    """The answer to a request in column form: each output for all sentences.

    A single output is given without its name.
    """
    columns = {orjson.dumps(name): _array(value) for name, value in outputs.items()}
    if len(columns) == 1:
        (column,) = columns.values()
        return _object({b'"outputs"': column})
    return _object({b'"outputs"': _object(columns)})


def _object(members):
    for i, (name, pieces) in enumerate(members.items()):
        yield (b", " if i else b"{") + name + b": "
        yield from pieces
    yield b"}"


def _list(items):
    separator = b"["
    for pieces in items:
        yield separator
        yield from pieces
        separator = b", "
    yield b"[]" if separator == b"[" else b"]"


def _array(array):
    """The pieces of an array, or of one of its elements."""
    size = np.size(array)
    if size <= PIECE:
        yield _dumps(array)
    elif size // len(array) >= PIECE:
        yield from _list(map(_array, array))
    else:
        step = PIECE * len(array) // size
        blocks = (array[i : i + step] for i in range(0, len(array), step))
        yield from _list([_dumps(block)[1:-1]] for block in blocks)


def _dumps(array):
    """JSON of an array; every number reads back as the same float32."""
    if isinstance(array, bytes):
        return orjson.dumps(_text(array))
    if array.dtype.kind == "O":
        return orjson.dumps(array.tolist(), default=_text)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return json.dumps(array.tolist()).encode()  # NaN, Infinity: orjson has null
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    return orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY)


def _text(content):
    """A string as in requests: text, or `{"b64": …}` if it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(content).decode()}
