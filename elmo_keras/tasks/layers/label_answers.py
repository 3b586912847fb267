"""The names of the labels that probabilities predict, found by a graph."""

from collections.abc import Sequence

import tensorflow as tf


def label_answers(scores: tf.Tensor, labels: Sequence[str]) -> dict[str, tf.Tensor]:
    """The most likely `label` `(batch,)`; all `labels` and their `scores` `(batch, labels)`."""
    best = tf.gather(tf.constant(labels), tf.argmax(scores, axis=1))
    return {"label": best} | _all_labels(scores, labels)


def multi_label_answers(
    scores: tf.Tensor, labels: Sequence[str], threshold: float
) -> dict[str, tf.Tensor]:
    """The labels of texts that may have any number of them.

    Returns:
        `predicted_labels` `(batch, labels)`: those whose score is at least `threshold`
        in the order of `labels`, then `""`; `labels` and `scores`.
    """
    answers = _all_labels(scores, labels)
    predicted = scores >= threshold
    order = tf.argsort(tf.cast(~predicted, tf.int32), axis=1, stable=True)
    names = tf.where(predicted, answers["labels"], "")
    return {"predicted_labels": tf.gather(names, order, batch_dims=1)} | answers


def _all_labels(scores, labels):
    names = tf.broadcast_to(tf.constant(labels), tf.shape(scores))
    names = tf.ensure_shape(names, (None, len(labels)))
    return {"labels": names, "scores": tf.cast(scores, tf.float32)}
