"""Batches stored step by step, without padding, as an LSTM reads them."""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.layers.flat_sentences import sentence_numbers


class Packing(NamedTuple):
    """The order of the real tokens of a batch when they are stored step by step.

    Step s holds the s-th real token of every row that has one, the longest rows
    first. A step is therefore one slice of the packed tokens and of the rows'
    state, and a row costs nothing after its last token.
    """

    tokens: tf.Tensor  # int32 (real tokens,), each packed token's index in the batch
    rows: tf.Tensor  # int32 (batch,), the rows from the longest to the shortest
    sizes: tf.Tensor  # int32 (steps,), the number of rows with a token at each step


def pack_sentences(lengths: tf.Tensor, reverse: bool = False) -> Packing:
    """The packing of flat sentences of these lengths, see `layers.flat_sentences`."""
    rows = tf.argsort(lengths, direction="DESCENDING", stable=True)
    ended = tf.math.bincount(lengths, minlength=1)  # rows that end before each step
    sizes = (tf.size(lengths) - tf.cumsum(ended))[:-1]
    row = sentence_numbers(lengths)  # (tokens,)
    tokens = tf.range(tf.size(row))
    steps = tokens - tf.gather(tf.cumsum(lengths, exclusive=True), row)
    if reverse:
        steps = tf.gather(lengths, row) - 1 - steps
    first = tf.gather(tf.cumsum(sizes, exclusive=True), steps)
    indices = first + tf.gather(tf.math.invert_permutation(rows), row)
    return Packing(tf.math.invert_permutation(indices), rows, sizes)


def over_real_tokens(function, inputs, mask, *, state, reverse: bool = False):
    """Applies a recurrent `function` to the real tokens of a padded batch only.

    It takes packed tokens, the `Packing.sizes` and the state, its rows in packed order.
    Inputs and outputs are `(batch, time, dim)`; outputs are 0 where the mask is false.
    """
    shape = tf.shape(inputs)
    mask = tf.ones(shape[:2], tf.bool) if mask is None else tf.cast(mask, tf.bool)
    packing = pack_sentences(tf.reduce_sum(tf.cast(mask, tf.int32), axis=1), reverse)
    real = tf.cast(tf.where(tf.reshape(mask, [-1]))[:, 0], tf.int32)
    indices = tf.gather(real, packing.tokens)
    x = tf.gather(tf.reshape(inputs, [-1, inputs.shape[-1]]), indices)
    outputs, state = function(x, packing.sizes, _take_rows(state, packing.rows))

    def unpacked(tokens):
        dim = tokens.shape[-1]
        flat = tf.scatter_nd(indices[:, None], tokens, [shape[0] * shape[1], dim])
        padded = tf.reshape(flat, [shape[0], shape[1], dim])
        return tf.ensure_shape(padded, (*inputs.shape[:2], dim))

    rank = tf.math.invert_permutation(packing.rows)
    return tf.nest.map_structure(unpacked, outputs), _take_rows(state, rank)


def _take_rows(state, rows):
    return tf.nest.map_structure(lambda x: tf.gather(x, rows), state)
