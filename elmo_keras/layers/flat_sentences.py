"""Sentences one after another in one tensor `(tokens, …)`, without padding."""

from typing import Any

import tensorflow as tf


def with_boundaries(
    tokens: tf.Tensor, lengths: tf.Tensor, boundaries: tf.Tensor
) -> tf.Tensor:
    """Puts one of `boundaries` (2, …) before, the other after each sentence."""
    # The indices of the tokens in `values`, whose first two are the boundaries.
    values = tf.concat([boundaries, tokens], axis=0)
    inner = tf.RaggedTensor.from_row_lengths(  # pyright: ignore[reportAttributeAccessIssue]
        tf.range(2, tf.reduce_sum(lengths) + 2), lengths, validate=False
    )
    begin, end = (tf.fill([tf.size(lengths), 1], i) for i in (0, 1))
    indices = tf.concat([begin, inner, end], axis=1).flat_values
    return tf.gather(values, indices)


def inner_tokens(lengths: tf.Tensor) -> tf.Tensor:
    """The indices of the tokens once each sentence has its boundaries: `(tokens,)`."""
    rows = sentence_numbers(lengths)
    # Each further sentence has two more boundaries before it.
    return tf.range(tf.size(rows)) + 2 * rows + 1


def sentence_numbers(lengths: tf.Tensor) -> tf.Tensor:
    """The index of each token's sentence: int32 `(tokens,)`."""
    return tf.repeat(tf.range(tf.size(lengths)), lengths)


def real_tokens(inputs: tf.Tensor, mask: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The tokens (tokens, dim) of a batch (batch, time, dim), their lengths, the mask."""
    if mask is None:
        mask = tf.ones(tf.shape(inputs)[:2], tf.bool)
    mask = tf.cast(mask, tf.bool)  # pyright: ignore[reportArgumentType, reportCallIssue]
    mask = tf.ensure_shape(mask, inputs.shape[:2])
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    return tf.boolean_mask(inputs, mask), lengths, mask


def padded(tokens: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Tokens (tokens, dim) where the mask (batch, time) is true, 0 elsewhere."""
    dim = tokens.shape[-1]
    shape = tf.concat([tf.shape(mask), [dim]], axis=0)  # pyright: ignore[reportArgumentType, reportCallIssue]
    batch = tf.scatter_nd(tf.cast(tf.where(mask), tf.int32), tokens, shape)
    return tf.ensure_shape(batch, (*mask.shape, dim))


def means(tokens: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """The mean (sentences, dim) over each sentence's tokens, 0 if it has none."""
    rows = sentence_numbers(lengths)
    sums = tf.math.unsorted_segment_sum(tokens, rows, tf.size(lengths))
    return sums / tf.cast(tf.maximum(lengths, 1), sums.dtype)[:, None]
