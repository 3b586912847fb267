"""Inputs and outputs of a signature, as arrays and as the tensors of messages."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from elmo_keras.exported_elmo import LENGTHS
from elmo_keras.serve.errors import invalid

Arrays = dict[str, np.ndarray]
# A message may give one value for all elements of a tensor up to this size.
MAX_REPEATED = 2**16

_VALUES = {tf.string: "string_val", tf.int32: "int_val"}
# The key of the packed field `float_val` in the wire format: number 5, with a length.
_FLOAT_VAL = bytes([5 << 3 | 2])


class Signature(NamedTuple):
    inputs: dict[str, tf.TensorSpec]
    outputs: dict[str, tf.TensorSpec]
    feeds: dict[str, str]
    fetches: dict[str, str]

    @classmethod
    def from_proto(cls, proto: SignatureDef) -> "Signature":
        inputs, outputs = sorted(proto.inputs.items()), sorted(proto.outputs.items())
        return cls(
            {key: _spec(tensor) for key, tensor in inputs},
            {key: _spec(tensor) for key, tensor in outputs},
            {key: tensor.name for key, tensor in inputs},
            {key: tensor.name for key, tensor in outputs},
        )

    def keys(self, output_filter: Iterable[str]) -> tuple[str, ...]:
        """The requested outputs, or all if none is named."""
        keys = sorted(output_filter)
        if unknown := [key for key in keys if key not in self.outputs]:
            raise invalid(
                f"The outputs are {list(self.outputs)}. Received in the output "
                f"filter: {unknown}"
            )
        if len(set(keys)) < len(keys):
            raise invalid(
                "The output filter should name each output once. Received: "
                f"{', '.join(keys)}"
            )
        return tuple(keys or self.outputs)

    def time_axis(self, key: str) -> int | None:
        """The axis of tokens: the only one of unknown size after the batch, or None."""
        shape = self.outputs[key].shape
        open_axes = [i for i in range(1, shape.rank or 0) if shape[i] is None]
        return open_axes[0] if len(open_axes) == 1 else None

    def arrays(self, values: Mapping, read: Callable[..., np.ndarray]) -> Arrays:
        """All inputs of a request, each read by `read(name, value, spec)`."""
        if set(values) != set(self.inputs):
            hint = ". `export --input-name text` takes requests for google/elmo"
            raise invalid(
                f"The inputs should be {sorted(self.inputs)}. Received: "
                f"{sorted(values)}{hint * (set(values) == {'text'})}"
            )
        arrays = {n: read(n, values[n], spec) for n, spec in self.inputs.items()}
        if len(arrays.get(LENGTHS, ())) == 1:  # for all rows, as exports take it
            arrays[LENGTHS] = arrays[LENGTHS].repeat(max(map(len, arrays.values())))
        if len({len(array) for array in arrays.values()}) > 1:
            shapes = {name: array.shape for name, array in arrays.items()}
            raise invalid(
                f"All inputs should have the same batch size. Received: {shapes}"
            )
        if LENGTHS in arrays and "tokens" in arrays:
            # Here, because more columns of another request may be joined to these.
            lengths, n = arrays[LENGTHS], arrays["tokens"].shape[1]
            if np.any((lengths < 0) | (lengths > n)):
                raise invalid(
                    "`sequence_len` should be from 0 to the number of columns of "
                    f"`tokens`, {n}. Received: {lengths.tolist()}"
                )
        return arrays


def _spec(tensor):
    return tf.TensorSpec(tf.TensorShape(tensor.tensor_shape), tensor.dtype)


def check_shape(name: str, shape: Sequence[int], spec: tf.TensorSpec) -> None:
    if min(shape, default=0) < 0 or not spec.shape.is_compatible_with(shape):
        raise invalid(f"`{name}` should have the shape {spec.shape}. Received: {shape}")


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


def _varint(value):
    """A number in the wire format: 7 bits a byte, the lowest first."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


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
