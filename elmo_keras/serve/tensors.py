"""Tensors of messages: those of requests to arrays, arrays to those of answers."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

from elmo_keras.serve.errors import invalid
from elmo_keras.serve.signature import check_shape

# A message may give one value for all elements of a tensor up to this size.
MAX_REPEATED = 2**16

_VALUES = {tf.string: "string_val", tf.int32: "int_val"}
# The key of the packed field `float_val` in the wire format: number 5, with a length.
_FLOAT_VAL = bytes([5 << 3 | 2])


def fill(proto: TensorProto, array: np.ndarray, *, as_content: bool = False) -> None:
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


def to_array(name: str, proto: TensorProto, spec: tf.TensorSpec) -> np.ndarray:
    """The array of an input, checked before memory is allocated."""
    if proto.dtype != spec.dtype.as_datatype_enum:
        raise invalid(
            f"`{name}` should be {spec.dtype.name}. Received: data type {proto.dtype}"
        )
    if proto.tensor_shape.unknown_rank:
        raise invalid(f"`{name}` should have a shape. Received: an unknown rank")
    shape = [dim.size for dim in proto.tensor_shape.dim]
    check_shape(name, shape, spec)
    n, n_bytes = math.prod(shape), len(proto.tensor_content)
    if n_bytes:
        size = 0 if spec.dtype == tf.string else n * spec.dtype.size
        if n_bytes != size:
            raise invalid(
                f"`{name}` should have {size} bytes of `tensor_content`. Received: "
                f"{n_bytes}"
            )
        return tf.make_ndarray(proto)
    n_values = len(getattr(proto, _VALUES[spec.dtype]))
    if n_values != n and not 0 < n_values < n <= MAX_REPEATED:
        raise invalid(f"`{name}` should have {n} values. Received: {n_values}")
    return tf.make_ndarray(proto)
