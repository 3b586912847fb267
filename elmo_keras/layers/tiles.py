"""Batches divided into tiles of one size, for functions compiled by XLA.

The rows of a batch are taken up to 32 at a time, the longest first, and their tokens
`STEPS` at a time. So a function that is compiled for a few shapes of a tile serves
batches of all shapes.
"""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.layers.flat_sentences import sentence_numbers

# Measured with 32 and 64 rows of 10, 26 and 150 tokens, and 16 and 32 steps.
ROWS, STEPS = (2, 8, 32), 16


class Tiles(NamedTuple):
    """The tiles of a batch, and where its real tokens are in them.

    Attributes:
        rows: int32, the number of rows of each tile, one of `ROWS`.
        sizes: int32 `(tiles,)`, the number of steps of each tile's longest row.
        continuing: int32 `(tiles,)`, 1 if the rows of the tile are those of the tile
            before, else 0.
        tile, step, row: int32 `(tokens,)`, each token's tile and its place in it.
    """

    rows: tf.Tensor
    sizes: tf.Tensor
    continuing: tf.Tensor
    tile: tf.Tensor
    step: tf.Tensor
    row: tf.Tensor

    def places(self, steps: int = STEPS) -> tf.Tensor:
        """Indices of the tokens in tiles of shape (steps, rows): int32 `(tokens,)`."""
        return (self.tile * steps + self.step) * self.rows + self.row

    def tokens(self) -> tf.Tensor:
        """The index of the token at each place, 0 where there is none.

        Returns:
            int32 `(tiles, STEPS, rows)`.
        """
        return self.tiled(tf.range(tf.size(self.tile)))

    def tiled(self, values: tf.Tensor) -> tf.Tensor:
        """Values of the tokens `(tokens, …)` at their places, and zeros elsewhere.

        Returns:
            `(tiles, STEPS, rows, …)`.
        """
        rest = values.shape[1:]
        flat = tf.size(self.sizes) * STEPS * self.rows
        values = tf.scatter_nd(self.places()[:, None], values, (flat, *rest))
        return tf.reshape(values, (-1, STEPS, self.rows, *rest))


def tile_sentences(lengths: tf.Tensor, reverse: bool = False) -> Tiles:
    """The tiles of flat sentences, see `layers.flat_sentences`.

    Args:
        lengths: int32 `(sentences,)`, the number of tokens of each sentence.
        reverse: whether each sentence is read from its last token to its first.
    """
    rows = _rows_of_tiles(tf.size(lengths))
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    longest = tf.gather(lengths, order)[::rows]  # of each block of rows
    n_tiles = (longest + STEPS - 1) // STEPS
    first = tf.cumsum(n_tiles, exclusive=True)
    block = sentence_numbers(n_tiles)  # (tiles,)
    before = STEPS * (tf.range(tf.size(block)) - tf.gather(first, block))
    sizes = tf.minimum(STEPS, tf.gather(longest, block) - before)
    row = sentence_numbers(lengths)  # (tokens,)
    step = tf.range(tf.size(row)) - tf.gather(tf.cumsum(lengths, exclusive=True), row)
    if reverse:
        step = tf.gather(lengths, row) - 1 - step
    row = tf.gather(tf.math.invert_permutation(order), row)
    tile = tf.gather(first, row // rows) + step // STEPS
    return Tiles(
        rows, sizes, tf.minimum(before, 1), tile, step=step % STEPS, row=row % rows
    )


def _rows_of_tiles(n_sentences):
    """The smallest number of `ROWS` that holds all sentences, or else the largest."""
    smaller = tf.constant(ROWS[:-1])
    return tf.gather(ROWS, tf.reduce_sum(tf.cast(smaller < n_sentences, tf.int32)))
