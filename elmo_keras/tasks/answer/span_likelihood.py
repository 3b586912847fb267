"""The parts of a span's probability: `log p = span_scores − log_total`."""

from collections.abc import Sequence

import tensorflow as tf


def span_scores(outputs: Sequence[tf.Tensor], spans: tf.Tensor) -> tf.Tensor:
    """The scores of given spans.

    Args:
        outputs: the output of an `Answerer`: the first two are the scores of first and
            last tokens, float `(batch, time)`.
        spans: int32 `(batch, …)`, the first and the last token, and maybe more.

    Returns:
        float `(batch,)`.
    """
    starts, ends, *_ = outputs
    first = tf.gather(starts, spans[:, 0], batch_dims=1)
    return first + tf.gather(ends, spans[:, 1], batch_dims=1)


def log_total(outputs: Sequence[tf.Tensor]) -> tf.Tensor:
    """The logarithm of the sum over all spans and no answer, float `(batch,)`.

    Args:
        outputs: as for `span_scores`; the third one is the score of no answer.
    """
    starts, ends, none, *_ = outputs
    total = tf.reduce_logsumexp(starts, axis=1) + tf.reduce_logsumexp(ends, axis=1)
    return tf.reduce_logsumexp([total, none], axis=0)
