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


def over_sentences(function, x, lengths, *, state, reverse: bool = False, wanted=None):
    """Outputs and last state of a recurrent `function` over flat sentences `x`.

    It takes packed tokens, the `Packing.sizes` and the state, its rows in packed order.
    `wanted` are the indices of the tokens whose outputs are returned, None for all.
    """
    packing = pack_sentences(lengths, reverse)
    outputs, state = function(
        tf.gather(x, packing.tokens),
        sizes=packing.sizes,
        state=_take_rows(state, packing.rows),
    )
    indices = tf.math.invert_permutation(packing.tokens)
    if wanted is not None:
        indices = tf.gather(indices, wanted)
    ranks = tf.math.invert_permutation(packing.rows)
    return _take_rows(outputs, indices), _take_rows(state, ranks)


def _take_rows(tensors, rows):
    return tf.nest.map_structure(lambda x: tf.gather(x, rows), tensors)
