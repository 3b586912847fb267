"""Inputs and outputs of a signature of a SavedModel."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from elmo_keras.exported_elmo import LENGTHS
from elmo_keras.serve.errors import invalid

Arrays = dict[str, np.ndarray]


class Signature(NamedTuple):
    inputs: dict[str, tf.TensorSpec]
    outputs: dict[str, tf.TensorSpec]
    feeds: dict[str, str]
    fetches: dict[str, str]

    @classmethod
    def from_proto(cls, proto: SignatureDef) -> "Signature":
        inputs, outputs = sorted(proto.inputs.items()), sorted(proto.outputs.items())
        return cls(
            {key: to_spec(tensor) for key, tensor in inputs},
            {key: to_spec(tensor) for key, tensor in outputs},
            {key: tensor.name for key, tensor in inputs},
            {key: tensor.name for key, tensor in outputs},
        )

    def keys(self, output_filter: Iterable[str]) -> tuple[str, ...]:
        """The requested outputs, or all if none is named."""
        wanted = sorted(output_filter)
        if unknown := [key for key in wanted if key not in self.outputs]:
            raise invalid(
                f"The outputs are {list(self.outputs)}. Received in the output "
                f"filter: {unknown}"
            )
        if len(set(wanted)) < len(wanted):
            raise invalid(
                "The output filter should name each output once. Received: "
                f"{', '.join(wanted)}"
            )
        return tuple(wanted or self.outputs)

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


def to_spec(tensor) -> tf.TensorSpec:
    return tf.TensorSpec(tf.TensorShape(tensor.tensor_shape), tensor.dtype)


def check_shape(name: str, shape: Sequence[int], spec: tf.TensorSpec) -> None:
    if min(shape, default=0) < 0 or not spec.shape.is_compatible_with(shape):
        raise invalid(f"`{name}` should have the shape {spec.shape}. Received: {shape}")
