"""Attention over sentences that ignores padding."""

import tensorflow as tf
from keras import ops

NEVER = -1e9  # far below any score, but finite, as its gradients must be


def masked_softmax(scores, mask):
    """Softmax over the last axis, among the places where the mask is true.

    Args:
        scores: float `(..., n)`.
        mask: bool, `(..., n)` or of a shape that broadcasts to it.

    Returns:
        `(..., n)`, 0 where the mask is false, even if it is false everywhere.
    """
    # Keras' softmax warns if the axis has size 1.
    weights = tf.nn.softmax(ops.where(mask, scores, NEVER), axis=-1)
    return ops.where(mask, weights, 0)


def soft_alignment(queries, keys, keys_mask):
    """For each query, the mean of the keys weighted by `softmax(query · key)`.

    Args:
        queries: `(batch, time, dim)`.
        keys: `(batch, other_time, dim)`.
        keys_mask: bool `(batch, other_time)`, which keys are real.

    Returns:
        `(batch, time, dim)`, 0 where no key is real.
    """
    scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1)))
    return ops.matmul(masked_softmax(scores, keys_mask[:, None, :]), keys)
