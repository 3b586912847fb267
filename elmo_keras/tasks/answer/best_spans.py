"""The best span by the scores of its two ends."""

import tensorflow as tf


def best_spans(
    start_scores: tf.Tensor, end_scores: tf.Tensor, longest: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The first and last position of highest summed score, by exact search.

    Args:
        start_scores, end_scores: float `(batch, time)`, very low at padding.
        longest: a span has 1 to so many positions.

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
    # (batch, time, longest): by the first position and by how far off the last is
    ends = tf.stack([ends[:, i : i + time] for i in range(longest)], axis=2)
    # The lowest number and another low one would sum to minus infinity: harmless.
    scores = tf.reshape(starts[:, :, None] + ends, [-1, time * longest])
    best = tf.argmax(scores, axis=1, output_type=tf.int32)
    first = best // longest
    return first, first + best % longest, tf.reduce_max(scores, axis=1)
