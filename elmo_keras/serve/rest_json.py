"""The JSON of TensorFlow Serving's REST API: requests to arrays, arrays to answers.

A request in row form holds `{"instances": [...]}`, a list with all inputs of each
sentence; in column form it holds `{"inputs": ...}`, each input for all sentences. The
answer has the form of the request. The name of a single input may be left out; the name
of a single output always is. Strings are text, or any bytes as `{"b64": "..."}`.
"""

import base64
import binascii
import codecs
import json
from collections.abc import Iterator

import numpy as np
import orjson
import tensorflow as tf

from elmo_keras.serve.batcher import Request
from elmo_keras.serve.errors import invalid
from elmo_keras.serve.servable import Servable
from elmo_keras.serve.signature import Arrays, check_shape

ROWS, COLUMNS = "instances", "inputs"
# Elements that are written in one call, which takes about a millisecond: orjson holds
# the interpreter meanwhile.
PIECE = 2**14
BLOCK = 2**20  # bytes that are sent at once


def decode(
    body: bytes | bytearray, servable: Servable, seconds: float
) -> tuple[Request, bool]:
    """A request, and whether it is in column form."""
    content = _parse(body)
    signature = servable.signature(content.get("signature_name", ""))
    as_columns = COLUMNS in content
    columns = _columns if as_columns else _rows_to_columns
    inputs = signature.arrays(columns(content, signature), _to_array)
    keys = tuple(signature.outputs)
    return Request(servable, signature, inputs, keys, seconds), as_columns


def _parse(body):
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
        listed = {name: inputs[name] for name in signature.inputs if name in inputs}
        # TensorFlow Serving ignores further ones, unless one is missing.
        return listed if len(listed) == len(signature.inputs) else inputs
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
    array = np.array(value, object)  # rows of unequal length stay lists
    if not array.size and array.ndim < spec.shape.rank:
        array = array.reshape([0] * spec.shape.rank)
    if array.ndim < spec.shape.rank:
        raise invalid(
            f"`{name}` should be nested lists, as deep as its shape {spec.shape}, with "
            "rows of equal length; pad them with ''."
        )
    check_shape(name, array.shape, spec)
    convert = _to_bytes if spec.dtype == tf.string else _to_int32
    leaves = [convert(name, leaf) for leaf in array.ravel()]
    return np.array(leaves, spec.dtype.as_numpy_dtype).reshape(array.shape)


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


def encode(outputs: Arrays, *, as_columns: bool) -> Iterator[bytes]:
    """The pieces of an answer: each output for all sentences, or all outputs of each."""
    if len(outputs) == 1:
        (content,) = outputs.values()
    elif as_columns:
        content = outputs
    else:
        content = (dict(zip(outputs, row)) for row in zip(*outputs.values()))
    return _pieces({"outputs" if as_columns else "predictions": content})


def next_block(pieces: Iterator[bytes]) -> bytes:
    """The next pieces, of `BLOCK` bytes or a little more; of fewer at the end."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= BLOCK:
            break
    return bytes(block)


def _pieces(value):
    if isinstance(value, dict):
        separator = b"{"
        for name, member in value.items():
            yield separator + orjson.dumps(name) + b": "
            yield from _pieces(member)
            separator = b", "
        yield b"}"
    elif isinstance(value, Iterator) or np.size(value) > PIECE:
        separator = b"["
        for row in value:
            yield separator
            yield from _pieces(row)
            separator = b", "
        yield b"[]" if separator == b"[" else b"]"
    else:
        yield _dumps(value)


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
