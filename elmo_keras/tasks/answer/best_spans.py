"""The span whose two ends have the highest sum of scores."""

import tensorflow as tf


def best_spans(
    start_scores: tf.Tensor, end_scores: tf.Tensor, longest: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The first and last position with the highest sum of scores, by exact search.

    Args:
        start_scores, end_scores: float `(batch, time)`, very low at padding.
        longest: maximum length of a span in positions.

    Returns:
        int32 `(batch,)` twice, the first and the last position, and the span's
        score `(batch,)`.

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
