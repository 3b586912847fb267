"""Batches stored step by step, without padding, as an LSTM reads them."""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.layers.flat_sentences import sentence_numbers


class Packing(NamedTuple):
    """The order of the real tokens of a batch when they are stored step by step.

    Step s holds the s-th real token of every row that has one, the longest rows
    first. A step is therefore one slice of the packed tokens and of the rows'
    state, and a row costs nothing after its last token.

    Attributes:
        tokens: int32 `(real tokens,)`, the index of each packed token in the
            flattened batch.
        rows: int32 `(batch,)`, the rows from the longest to the shortest.
        sizes: int32 `(steps,)`, the number of rows with a token at each step.
    """

    tokens: tf.Tensor
    rows: tf.Tensor
    sizes: tf.Tensor


def pack_all(shape, reverse: bool = False) -> Packing:
    """The packing of a batch of `shape` (batch, time) that has no padding."""
    batch, time = shape[0], shape[1]
    steps = tf.range(time)
    if reverse:
        steps = steps[::-1]
    places = steps[:, None] + time * tf.range(batch)
    return Packing(tf.reshape(places, [-1]), tf.range(batch), tf.fill([time], batch))


def pack_sentences(lengths: tf.Tensor, reverse: bool = False) -> Packing:
    """The packing of flat sentences of these lengths, see `layers.flat_sentences`."""
    rows = tf.argsort(lengths, direction="DESCENDING", stable=True)
    sizes = _step_sizes(lengths)
    row = sentence_numbers(lengths)  # (tokens,)
    tokens = tf.range(tf.size(row))
    steps = tokens - tf.gather(tf.cumsum(lengths, exclusive=True), row)
    if reverse:
        steps = tf.gather(lengths, row) - 1 - steps
    first = tf.gather(tf.cumsum(sizes, exclusive=True), steps)
    places = first + tf.gather(tf.math.invert_permutation(rows), row)
    return Packing(tf.math.invert_permutation(places), rows, sizes)


def pack(mask: tf.Tensor, reverse: bool = False) -> Packing:
    """The packing of the positions where `mask` (batch, time) is true."""
    mask = tf.cast(mask, tf.bool)
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    packing = pack_sentences(lengths, reverse)
    real = tf.cast(tf.where(tf.reshape(mask, [-1]))[:, 0], tf.int32)
    return packing._replace(tokens=tf.gather(real, packing.tokens))


def _step_sizes(lengths):
    """The number of rows with a token at each step: int32 (steps,)."""
    ended = tf.math.bincount(lengths, minlength=1)  # rows that end before each step
    return (tf.size(lengths) - tf.cumsum(ended))[:-1]


def over_real_tokens(function, inputs, mask, *, state, reverse: bool = False):
    """Applies a recurrent `function` to the real tokens of a padded batch only.

    Args:
        function: takes packed tokens (real tokens, dim), the `Packing.sizes`
            and the state, rows in packed order; returns a structure of packed
            outputs and the state after the last token of each row.
        inputs: (batch, time, dim).
        mask: boolean (batch, time), or None if every token is real.
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
