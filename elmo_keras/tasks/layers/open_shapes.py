"""The inputs of task models with open sizes, for one graph that serves all batches."""

from collections.abc import Mapping

import tensorflow as tf


def open_shapes(inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.TensorSpec]:
    """The specs of a batch's fields, without the sizes that differ between batches.

    Args:
        inputs: see `TaskModel`: `F_layers` has the shape `(batch, layers, time, dim)`,
            of which the number of layers and `dim` stay; other fields have any shape.

    Example:

    >>> open_shapes({"tokens": tf.constant([["a", "b"]])})["tokens"].shape
    TensorShape([None, None])
    """

    def spec(name, tensor):
        shape = [None] * tensor.shape.rank
        if name.endswith("_layers"):
            shape = [None, tensor.shape[1], None, tensor.shape[3]]
        return tf.TensorSpec(shape, tensor.dtype)

    return {name: spec(name, tensor) for name, tensor in inputs.items()}
