"""The JSON of TensorFlow Serving's REST API: requests to arrays, arrays to answers.

A request in row form holds `{"instances": [...]}`, a list with all inputs of each
sentence; in column form it holds `{"inputs": ...}`, each input for all sentences. The
answer has the form of the request. The name of a single input may be left out; the name
of a single output always is. Strings are text, or any bytes as `{"b64": "..."}`.

An answer is written in pieces: orjson holds the interpreter while it works, and nobody
should wait for it for long.
"""

import base64
import binascii
import codecs
import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import orjson
import tensorflow as tf

from elmo_keras.serve.batcher import Request
from elmo_keras.serve.errors import invalid
from elmo_keras.serve.servable import Servable
from elmo_keras.serve.signature import Arrays, check_shape
from elmo_keras.text.length_batches import chunks

ROWS, COLUMNS = "instances", "inputs"
PIECE = 2**14  # elements that are written in one call: about a millisecond
BLOCK = 2**18  # bytes that are sent at once
AT_ONCE = 2**24  # bytes that are written before the first are sent


def decode(body: bytes, servable: Servable, seconds: float | None = None) -> Request:
    content = _parsed(body)
    signature = servable.signature(content.get("signature_name", ""))
    as_columns = COLUMNS in content
    values = (_columns if as_columns else _rows_to_columns)(content, signature)
    inputs, keys = signature.arrays(values, _to_array), tuple(signature.outputs)
    return Request(servable, signature, inputs, keys, seconds, as_columns)


def _parsed(body):
    try:
        content = orjson.loads(body.removeprefix(codecs.BOM_UTF8))
    except orjson.JSONDecodeError as error:
        raise invalid(f"The body should be JSON. {error}") from None
    if not isinstance(content, dict):
        raise invalid("The body should be a JSON object.")
    if (ROWS in content) == (COLUMNS in content):
        raise invalid(f"The body should have {ROWS!r} or {COLUMNS!r}.")
    if not isinstance(content.get("signature_name", ""), str):
        raise invalid("'signature_name' should be a string.")
    return content


def _columns(content, signature):
    inputs = content[COLUMNS]
    if _is_named(inputs):
        known = {name: inputs[name] for name in signature.inputs if name in inputs}
        # TensorFlow Serving ignores further ones, unless one is missing.
        return known if len(known) == len(signature.inputs) else inputs
    return {_only_input(signature): inputs}


def _rows_to_columns(content, signature):
    instances = content[ROWS]
    if not isinstance(instances, list) or not instances:
        raise invalid(f"{ROWS!r} should be a list that is not empty.")
    named = [_is_named(instance) for instance in instances]
    if not any(named):
        return {_only_input(signature): instances}
    names = set(instances[named.index(True)])
    if not all(named) or any(set(instance) != names for instance in instances):
        raise invalid(f"All {ROWS!r} should have the same inputs.")
    return {name: [instance[name] for instance in instances] for name in names}


def _is_named(value):
    return isinstance(value, dict) and set(value) != {"b64"}


def _only_input(signature):
    if len(signature.inputs) > 1:
        raise invalid(f"Inputs should be given by name: {list(signature.inputs)}")
    return next(iter(signature.inputs))


def _to_array(name, value, spec):
    shape, leaves = _flat(name, value, spec.shape.rank)
    check_shape(name, shape, spec)
    convert = _to_bytes if spec.dtype == tf.string else _to_int32
    array = np.empty(len(leaves), spec.dtype.as_numpy_dtype)
    array[:] = [convert(name, leaf) for leaf in leaves]
    return array.reshape(shape)


def _flat(name, value, rank):
    if rank == 0:
        return [], [value]
    if not isinstance(value, list):
        raise invalid(f"`{name}` should be nested lists, as deep as its shape.")
    if not value:
        return [0] * rank, []
    parts = [_flat(name, item, rank - 1) for item in value]
    shape = parts[0][0]
    if any(other != shape for other, _ in parts):
        raise invalid(f"`{name}` should have rows of equal length; pad them with ''.")
    return [len(value), *shape], [leaf for _, leaves in parts for leaf in leaves]


def _to_bytes(name, value):
    if isinstance(value, str):
        return value.encode()
    try:
        coded = "".join(value["b64"].split()).rstrip("=")
        return base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True)
    except (AttributeError, TypeError, KeyError, ValueError, binascii.Error):
        raise invalid(f"`{name}` should hold strings or {{'b64': …}}.") from None


def _to_int32(name, value):
    limits = np.iinfo(np.int32)
    if type(value) is not int or not limits.min <= value <= limits.max:
        raise invalid(f"`{name}` should hold integers of 32 bits.")
    return value


class Content(NamedTuple):
    blocks: list[bytes]
    more: Iterator[bytes] | None = None


def encode(outputs: Arrays, *, as_columns: bool) -> Content:
    """The answer in row or column form; of a large one the beginning is written."""
    pieces = json_pieces(outputs, as_columns=as_columns)
    blocks = map(b"".join, chunks(pieces, BLOCK, len))
    found, size = [], 0
    for block in blocks:
        found.append(block)
        size += len(block)
        if size >= AT_ONCE:
            return Content(found, blocks)
    return Content(found)


def json_pieces(outputs: Arrays, *, as_columns: bool) -> Iterator[bytes]:
    """Each output for all sentences, or all outputs of each; one has no name."""
    names = [orjson.dumps(name) for name in outputs]
    if len(outputs) == 1:
        (found,) = map(_array, outputs.values())
    elif as_columns:
        found = _object(dict(zip(names, map(_array, outputs.values()))))
    else:
        rows = zip(*outputs.values())
        found = _list(_object(dict(zip(names, map(_array, row)))) for row in rows)
    return _object({b'"outputs"' if as_columns else b'"predictions"': found})


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
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(content).decode()}
