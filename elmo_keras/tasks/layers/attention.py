"""Attention over sentences, to which padding makes no difference."""

import tensorflow as tf
from keras import ops

_NEVER = -1e9  # a score far below any other, and finite, as are its gradients


def masked_softmax(scores, mask):
    """Softmax over the last axis among the places where the mask is true.

    Args:
        scores: float `(..., n)`.
        mask: bool, `(..., n)` or of a shape that broadcasts to it.

    Returns:
        `(..., n)`, 0 where the mask is false, also where it is false everywhere.
    """
    # Not Keras' softmax, which warns where there is one place only.
    weights = tf.nn.softmax(ops.where(mask, scores, _NEVER), axis=-1)
    return ops.where(mask, weights, 0)


def soft_alignment(queries, keys, keys_mask):
    """For each query the mean of the keys, weighted by `softmax(query · key)`.

    Args:
        queries: `(batch, time, dim)`.
        keys: `(batch, other_time, dim)`.
        keys_mask: bool `(batch, other_time)`, which keys are real.

    Returns:
        `(batch, time, dim)`, 0 where no key is real.
    """
    scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1)))
    return ops.matmul(masked_softmax(scores, keys_mask[:, None, :]), keys)
