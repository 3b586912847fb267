"""Tensors of requests, checked before memory is allocated, and those of answers."""

import math
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

from .errors import invalid
from .signature import Arrays, Signature, check_shape

# A message may give one value for all elements of a tensor up to this size.
MAX_REPEATED = 2**16

_VALUES = {tf.string: "string_val", tf.int32: "int_val"}
# The key of the packed field `float_val` in the wire format: number 5, with a length.
_FLOAT_VAL = bytes([5 << 3 | 2])


def decode_inputs(protos: Mapping[str, TensorProto], signature: Signature) -> Arrays:
    """The inputs of a request as arrays."""
    return signature.arrays(protos, _decode)


def fill(proto: TensorProto, array: np.ndarray, *, as_content: bool = False) -> None:
    """Writes an output into the empty tensor of an answer.

    Numbers become `float_val` or `int_val`, which TensorFlow Serving sends too, or
    with `as_content` the bytes `tensor_content`.
    """
    if as_content or array.dtype not in (np.float32, np.int32):
        proto.CopyFrom(tf.make_tensor_proto(array))
        return
    proto.dtype = tf.as_dtype(array.dtype).as_datatype_enum
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if array.dtype == np.int32:
        proto.int_val.extend(array.ravel().tolist())
    elif array.size:
        # Packed floats are the bytes of the array: no float becomes a Python object.
        content = array.astype("<f4", copy=False).tobytes()
        proto.MergeFromString(_FLOAT_VAL + _varint(len(content)) + content)


def _varint(number):
    """A number in the wire format: 7 bits a byte, the lowest first."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def _decode(name, proto, spec):
    if proto.dtype != spec.dtype.as_datatype_enum:
        raise invalid(
            f"`{name}` should be {spec.dtype.name}. Received: data type {proto.dtype}"
        )
    if proto.tensor_shape.unknown_rank:
        raise invalid(f"`{name}` should have a shape. Received: an unknown rank")
    shape = [dim.size for dim in proto.tensor_shape.dim]
    check_shape(name, shape, spec)
    _check_values(name, proto, dtype=spec.dtype, n=math.prod(shape))
    return tf.make_ndarray(proto)


def _check_values(name, proto, *, dtype, n):
    """Refuses more or fewer values than the `n` elements of the shape."""
    if proto.tensor_content:
        size = 0 if dtype == tf.string else n * dtype.size
        if len(proto.tensor_content) != size:
            raise invalid(
                f"`{name}` should have {size} bytes of `tensor_content`. Received: "
                f"{len(proto.tensor_content)}"
            )
        return
    given = len(getattr(proto, _VALUES[dtype]))
    repeated = 0 < given < n <= MAX_REPEATED
    if given != n and not repeated:
        raise invalid(f"`{name}` should have {n} values. Received: {given}")
