"""The JSON of TensorFlow Serving's REST API: requests to arrays.

A request in row form holds `{"instances": [...]}`, a list with all inputs of each
sentence; in column form it holds `{"inputs": ...}`, each input for all sentences. The
answer has the form of the request. The name of a single input may be left out; the name
of a single output always is. Strings are text, or any bytes as `{"b64": "..."}`.
"""

import base64
import binascii
import codecs
from typing import Any

import numpy as np
import orjson
import tensorflow as tf

from .joining import Arrays
from .proto_tensors import check_names, check_rows, check_shape
from .request_error import invalid
from .signature import Signature

ROWS, COLUMNS = "instances", "inputs"


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a request.

    Raises:
        RequestError: the body is not such an object.
    """
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


def decode(content: dict[str, Any], signature: Signature) -> Arrays:
    """The inputs of a parsed request.

    Raises:
        RequestError: they don't fit the signature.
    """
    by_name = _columns if COLUMNS in content else _rows_to_columns
    values = by_name(content, signature)
    check_names(values, signature)
    arrays = {
        name: _to_array(name, values[name], spec)
        for name, spec in signature.inputs.items()
    }
    check_rows(arrays)
    return arrays


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
    rank = spec.shape.rank
    shape, leaves = _flat(name, value, rank)
    check_shape(name, shape, spec)
    convert = _to_bytes if spec.dtype == tf.string else _to_int32
    array = np.empty(len(leaves), spec.dtype.as_numpy_dtype)
    array[:] = [convert(name, leaf) for leaf in leaves]
    return array.reshape(shape)


def _flat(name, value, rank):
    """Shape and elements of lists nested in `rank` levels."""
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
