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
    rows = sentence_indices(lengths)
    # Each further sentence has two more boundaries before it.
    return tf.range(tf.size(rows)) + 2 * rows + 1


def sentence_indices(lengths: tf.Tensor) -> tf.Tensor:
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
    rows = sentence_indices(lengths)
    sums = tf.math.unsorted_segment_sum(tokens, rows, tf.size(lengths))
    return sums / tf.cast(tf.maximum(lengths, 1), sums.dtype)[:, None]


def over_sentences(
    function, x, lengths, *, state, reverse: bool = False, selected=None
):
    """Outputs and last state of a recurrent `function` over flat sentences `x`.

    It takes packed tokens, their `sizes` and the state. Step s of the packed tokens holds
    the s-th token of every sentence that has one, `sizes[s]` of them, the longest
    sentences first. A step is therefore one slice of the tokens and of the state's rows,
    and a sentence costs nothing after its last token.

    `selected` are the indices of the tokens whose outputs are returned, None for all.
    """
    rows = tf.argsort(lengths, direction="DESCENDING", stable=True)
    ended = tf.math.bincount(lengths, minlength=1)  # rows that end before each step
    sizes = (tf.size(lengths) - tf.cumsum(ended))[:-1]  # int32 (steps,)
    row = sentence_indices(lengths)  # (tokens,)
    tokens = tf.range(tf.size(row))
    steps = tokens - tf.gather(tf.cumsum(lengths, exclusive=True), row)
    if reverse:
        steps = tf.gather(lengths, row) - 1 - steps
    first = tf.gather(tf.cumsum(sizes, exclusive=True), steps)
    ranks = tf.math.invert_permutation(rows)
    indices = first + tf.gather(ranks, row)  # each token's among the packed ones
    outputs, state = function(
        tf.gather(x, tf.math.invert_permutation(indices)),
        sizes=sizes,
        state=_take_rows(state, rows),
    )
    indices = indices if selected is None else tf.gather(indices, selected)
    return _take_rows(outputs, indices), _take_rows(state, ranks)


def _take_rows(tensors, rows):
    return tf.nest.map_structure(lambda x: tf.gather(x, rows), tensors)
