"""Scores of spans: the best one, and `log p = span_scores − log_total` of given ones."""

from collections.abc import Sequence

import tensorflow as tf


def span_scores(outputs: Sequence[tf.Tensor], spans: tf.Tensor) -> tf.Tensor:
    """The scores `(batch,)` of spans, int32 `(batch, 2 or more)`: first and last token."""
    starts, ends, *_ = outputs
    first = tf.gather(starts, spans[:, 0], batch_dims=1)
    return first + tf.gather(ends, spans[:, 1], batch_dims=1)


def log_total(outputs: Sequence[tf.Tensor]) -> tf.Tensor:
    """The logarithm of the sum over all spans and no answer: `(batch,)`."""
    starts, ends, none, *_ = outputs
    total = tf.reduce_logsumexp(starts, axis=1) + tf.reduce_logsumexp(ends, axis=1)
    return tf.reduce_logsumexp([total, none], axis=0)


def best_spans(
    start_scores: tf.Tensor, end_scores: tf.Tensor, longest: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """First and last position of the best span, and its score, each `(batch,)`.

    The search is exact among spans of at most `longest` positions. Scores are `(batch,
    time)`, very low at padding.

    >>> first, last, score = best_spans([[1., 0., 5.]], [[9., 2., 0.]], longest=2)
    >>> int(first[0]), int(last[0]), float(score[0])
    (0, 0, 10.0)
    """
    starts, ends = tf.convert_to_tensor(start_scores), tf.convert_to_tensor(end_scores)
    time = tf.shape(starts)[1]
    padding = [[0, 0], [0, longest - 1]]
    ends = tf.pad(ends, padding, constant_values=ends.dtype.min)
    # (batch, time, longest): by first position and distance to the last one
    ends = tf.stack([ends[:, i : i + time] for i in range(longest)], axis=2)
    # The lowest number and another low one may sum to minus infinity, which is harmless.
    scores = tf.reshape(starts[:, :, None] + ends, [-1, time * longest])
    best = tf.argmax(scores, axis=1, output_type=tf.int32)
    first = best // longest
    return first, first + best % longest, tf.reduce_max(scores, axis=1)
