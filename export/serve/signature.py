"""Inputs and outputs of a signature of a SavedModel."""

from collections.abc import Iterable
from typing import NamedTuple

import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from .request_error import invalid


class Signature(NamedTuple):
    """A signature.

    Attributes:
        inputs, outputs: key → dtype and shape, in sorted order.
        feeds, fetches: key → name of the tensor in the graph.
    """

    inputs: dict[str, tf.TensorSpec]
    outputs: dict[str, tf.TensorSpec]
    feeds: dict[str, str]
    fetches: dict[str, str]

    @classmethod
    def of(cls, proto: SignatureDef) -> "Signature":
        """The signature of a loaded graph."""
        return cls(
            inputs=_specs(proto.inputs),
            outputs=_specs(proto.outputs),
            feeds=_names(proto.inputs),
            fetches=_names(proto.outputs),
        )

    def chosen(self, output_filter: Iterable[str]) -> tuple[str, ...]:
        """The keys of the requested outputs, sorted; all if the filter is empty.

        Raises:
            RequestError: there is no such output, or one is requested twice.
        """
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
        """The axis of an output that counts tokens, or None.

        It is the only axis of unknown size after the batch axis.
        """
        shape = self.outputs[key].shape
        open_axes = [i for i in range(1, shape.rank or 0) if shape[i] is None]
        return open_axes[0] if len(open_axes) == 1 else None


def _specs(tensors):
    return {
        key: tf.TensorSpec(tf.TensorShape(info.tensor_shape), info.dtype)
        for key, info in sorted(tensors.items())
    }


def _names(tensors):
    return {key: info.name for key, info in sorted(tensors.items())}
