"""Both texts of each pair as one batch."""

from collections.abc import Mapping

import tensorflow as tf


def stacked_pair(
    inputs: Mapping[str, tf.Tensor], first: str, second: str
) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Both texts of each pair in one batch, so that an encoder runs only once.

    Args:
        inputs: for each of the two fields F, tokens F `(batch, time)` and optionally
            layers `F_layers` `(batch, layers, time, dim)`; the times may differ.
        first, second: names of the fields.

    Returns:
        Tokens `(2 · batch, time)`, and layers `(2 · batch, layers, time, dim)` or None.
    """
    tokens = [inputs[first], inputs[second]]
    time = tf.maximum(*(tf.shape(t)[1] for t in tokens))
    stacked = tf.concat([_widened(t, time, axis=1) for t in tokens], axis=0)
    layers = [inputs.get(f"{field}_layers") for field in (first, second)]
    if layers[0] is None:
        return stacked, None
    return stacked, tf.concat([_widened(x, time, axis=2) for x in layers], axis=0)


def _widened(x, size, axis):
    """Padded at the end of an axis."""
    missing = size - tf.shape(x)[axis]
    paddings = [[0, missing if i == axis else 0] for i in range(x.shape.rank)]
    return tf.pad(x, paddings, constant_values="" if x.dtype == tf.string else 0)
