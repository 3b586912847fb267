"""Inputs and outputs of a signature of a SavedModel, and what fits them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from elmo_keras.serve.errors import invalid

LENGTHS = "sequence_len"

Arrays = dict[str, np.ndarray]


class Signature(NamedTuple):
    inputs: dict[str, tf.TensorSpec]
    outputs: dict[str, tf.TensorSpec]
    feeds: dict[str, str]
    fetches: dict[str, str]

    @classmethod
    def of(cls, proto: SignatureDef) -> "Signature":
        tensors = [dict(sorted(x.items())) for x in (proto.inputs, proto.outputs)]
        return cls(
            *({key: _spec(x) for key, x in found.items()} for found in tensors),
            *({key: x.name for key, x in found.items()} for found in tensors),
        )

    def chosen(self, output_filter: Iterable[str]) -> tuple[str, ...]:
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

    def arrays(self, given: Mapping, read: Callable[..., np.ndarray]) -> Arrays:
        """All inputs of a request, each read by `read(name, value, spec)`."""
        if set(given) != set(self.inputs):
            hint = ". `export --input-name text` takes requests for google/elmo"
            raise invalid(
                f"The inputs should be {sorted(self.inputs)}. Received: {sorted(given)}"
                f"{hint * (set(given) == {'text'})}"
            )
        found = {n: read(n, given[n], spec) for n, spec in self.inputs.items()}
        if len(found.get(LENGTHS, ())) == 1:  # for all rows, as exports take it
            found[LENGTHS] = found[LENGTHS].repeat(max(map(len, found.values())))
        if len({len(array) for array in found.values()}) > 1:
            shapes = {name: array.shape for name, array in found.items()}
            raise invalid(
                f"All inputs should have the same batch size. Received: {shapes}"
            )
        return found


def _spec(info):
    return tf.TensorSpec(tf.TensorShape(info.tensor_shape), info.dtype)


def check_shape(name: str, shape: Sequence[int], spec: tf.TensorSpec) -> None:
    if min(shape, default=0) < 0 or not spec.shape.is_compatible_with(shape):
        raise invalid(f"`{name}` should have the shape {spec.shape}. Received: {shape}")
