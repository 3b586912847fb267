"""Texts as one tensor, and the two texts of pairs as one batch."""

from collections.abc import Mapping, Sequence

import tensorflow as tf


def padded(texts: Sequence[Sequence[str]]) -> tf.Tensor:
    """Lists of tokens as a string tensor `(batch, time)`, at least one token wide."""
    tokens = tf.ragged.constant([list(t) for t in texts], tf.string, ragged_rank=1)
    width = max(1, tokens.bounding_shape()[1])
    return tokens.to_tensor(shape=(None, width))


def one_below_the_other(
    inputs: Mapping[str, tf.Tensor], first: str, second: str
) -> tuple[tf.Tensor, tf.Tensor | None]:
    """The two texts of each pair as one batch, so that an encoder runs only once.

    Args:
        inputs: for each of the two fields F its tokens F `(batch, time)` and, or not,
            its layers `F_layers` `(batch, layers, time, dim)`; their times may differ.
        first, second: the fields' names.

    Returns:
        Tokens `(2 · batch, time)` and layers `(2 · batch, layers, time, dim)` or None.
    """
    tokens = [inputs[first], inputs[second]]
    time = tf.maximum(*(tf.shape(t)[1] for t in tokens))
    below = tf.concat([_widened(t, time, axis=1) for t in tokens], axis=0)
    layers = [inputs.get(f"{field}_layers") for field in (first, second)]
    if layers[0] is None:
        return below, None
    return below, tf.concat([_widened(x, time, axis=2) for x in layers], axis=0)


def _widened(x, time, axis):
    """Padded at the end of an axis."""
    missing = time - tf.shape(x)[axis]
    paddings = [[0, missing if i == axis else 0] for i in range(x.shape.rank)]
    return tf.pad(x, paddings, constant_values="" if x.dtype == tf.string else 0)
