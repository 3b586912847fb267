"""Padded batches stored step by step, without their padding."""

from typing import NamedTuple

import tensorflow as tf


class Packing(NamedTuple):
    """Where each real token of a padded batch stands once padding is left out.

    Tokens are stored step by step: step s holds the s-th real token of every
    row that has so many, the rows with most tokens first. A step is therefore
    one slice of the packed tokens and of the rows' state, and a row that is
    over costs nothing.

    Attributes:
        tokens: int32 `(real tokens,)`, the place of each packed token in the
            flattened batch.
        rows: int32 `(batch,)`, the rows from most tokens to fewest.
        sizes: int32 `(steps,)`, the number of rows with a token at each step.
    """

    tokens: tf.Tensor
    rows: tf.Tensor
    sizes: tf.Tensor


def pack_all(shape, reverse: bool = False) -> Packing:
    """The packing of a batch of `shape` (batch, time) without padding."""
    batch, time = shape[0], shape[1]
    steps = tf.range(time)
    if reverse:
        steps = steps[::-1]
    places = steps[:, None] + time * tf.range(batch)
    return Packing(tf.reshape(places, [-1]), tf.range(batch), tf.fill([time], batch))


def pack_sentences(lengths: tf.Tensor, reverse: bool = False) -> Packing:
    """The packing of sentences that stand one after another, without padding.

    Args:
        lengths: int32 `(sentences,)`, the number of tokens of each.
        reverse: whether each is read from its last token to its first.
    """
    rows = tf.argsort(lengths, direction="DESCENDING", stable=True)
    sizes = _step_sizes(lengths)
    row = tf.repeat(tf.range(tf.size(lengths)), lengths)  # (tokens,)
    tokens = tf.range(tf.size(row))
    steps = tokens - tf.gather(tf.cumsum(lengths, exclusive=True), row)
    if reverse:
        steps = tf.gather(lengths, row) - 1 - steps
    first = tf.gather(tf.cumsum(sizes, exclusive=True), steps)
    places = first + tf.gather(tf.math.invert_permutation(rows), row)
    return Packing(tf.math.invert_permutation(places), rows, sizes)


def pack(mask: tf.Tensor, reverse: bool = False) -> Packing:
    """The packing of the positions where `mask` (batch, time) is true.

    With `reverse` each row is read from its own last real token to its first.
    """
    mask = tf.cast(mask, tf.bool)
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    packing = pack_sentences(lengths, reverse)
    real = tf.cast(tf.where(tf.reshape(mask, [-1]))[:, 0], tf.int32)
    return packing._replace(tokens=tf.gather(real, packing.tokens))


def _step_sizes(lengths):
    """For each step the number of rows that are longer."""
    over = tf.math.bincount(lengths, minlength=1)  # rows over after so many steps
    return (tf.size(lengths) - tf.cumsum(over))[:-1]


def over_real_tokens(function, inputs, mask, state, reverse: bool = False):
    """Applies a recurrent `function` to the real tokens of a padded batch only.

    Args:
        function: takes packed tokens (real tokens, dim), the `Packing.sizes`
            and the state, rows in packed order; returns a structure of packed
            outputs and the state behind the last token of each row.
        inputs: (batch, time, dim).
        mask: boolean (batch, time), or None where every token is real.
        state: structure of tensors (batch, …).
        reverse: whether rows are read from their last real token to the first.

    Returns:
        The outputs as (batch, time, …), 0 at masked positions, and the state.
    """
    shape = tf.shape(inputs)
    packing = pack_all(shape, reverse) if mask is None else pack(mask, reverse)
    x = tf.gather(tf.reshape(inputs, [-1, inputs.shape[-1]]), packing.tokens)
    outputs, state = function(x, packing.sizes, _take_rows(state, packing.rows))

    def unpacked(tokens):
        dim = tokens.shape[-1]
        flat = [shape[0] * shape[1], dim]
        flat = tf.scatter_nd(packing.tokens[:, None], tokens, flat)
        padded = tf.reshape(flat, [shape[0], shape[1], dim])
        return tf.ensure_shape(padded, (*inputs.shape[:2], dim))

    rank = tf.math.invert_permutation(packing.rows)
    return tf.nest.map_structure(unpacked, outputs), _take_rows(state, rank)


def _take_rows(state, rows):
    return tf.nest.map_structure(lambda x: tf.gather(x, rows), state)
