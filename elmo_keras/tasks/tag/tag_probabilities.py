"""How likely a tagger finds its tags and spans."""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.tasks.tag.crf import LinearChainCRF
from elmo_keras.tasks.tag.crf_marginals import crf_marginals
from elmo_keras.tasks.tag.tag_spans import TagSpans


class TagProbabilities(NamedTuple):
    """Logarithms of probabilities, float `(batch, time)`, 0 at padding.

    Attributes:
        alone: of each token's tag.
        after: of each token's tag, given the tag of the token before it.
    """

    alone: tf.Tensor
    after: tf.Tensor

    def of_spans(self, spans: TagSpans) -> tf.Tensor:
        """The probability that a span's tokens have their tags: `(batch, time)`.

        It is that of the first tag, times those of the others given the one before;
        0 in columns without a span.
        """
        first = tf.maximum(spans.begins, 0)
        last = tf.maximum(spans.ends - 1, 0)
        sums = tf.cumsum(self.after, axis=1)
        total = tf.gather(self.alone, first, batch_dims=1)
        total += tf.gather(sums, last, batch_dims=1)
        total -= tf.gather(sums, first, batch_dims=1)
        return tf.where(spans.begins >= 0, tf.exp(tf.minimum(total, 0.0)), 0.0)


def tag_probabilities(
    scores: tf.Tensor, numbers: tf.Tensor, crf: LinearChainCRF | None
) -> TagProbabilities:
    """The probabilities of given tags.

    Args:
        scores: float `(batch, time, tags)`, at least one position.
        numbers: int32 `(batch, time)`, the tags, −1 at padding.
        crf: scores whole sequences; None if each tag is decided by itself. The
            probabilities are those among the sequences that it allows.
    """
    mask, tags = numbers >= 0, tf.maximum(numbers, 0)
    scores = tf.cast(scores, tf.float32)
    if crf is None:
        alone = after = _chosen(tf.nn.log_softmax(scores, axis=2), tags)
    else:
        weights = crf.constrained(tf.float32)
        alone, onwards = crf_marginals(scores, mask, weights)
        alone = _chosen(alone, tags)
        before = tf.pad(tags[:, :-1], [[0, 0], [1, 0]])
        after = scores + onwards + tf.gather(weights[0], before)
        after = _chosen(tf.nn.log_softmax(after, axis=2), tags)
    return TagProbabilities(tf.where(mask, alone, 0.0), tf.where(mask, after, 0.0))


def _chosen(values, tags):
    """The value of each token's tag: `(batch, time)`."""
    return tf.gather(values, tags, axis=2, batch_dims=2)
