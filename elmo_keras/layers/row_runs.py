"""Series of steps with a fixed number of rows, for compiled functions.

The rows of packed sentences (`packing.Packing`) get fewer as sentences end, and a
compiled function needs shapes that don't vary. A run is a series of steps whose numbers
of rows are the same when they are rounded up to a power of two.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

MOST_ROWS = 128  # with more rows the products of matrices take most of the time
MOST_STEPS = 32


class Runs(NamedTuple):
    """The runs of a batch.

    Attributes:
        table: int32 `(runs, 5)`: the power of two, the first step, the number of steps,
            the first packed token and the number of tokens.
        sizes: int32 `(steps + MOST_STEPS,)`, the number of tokens of each step, and
            zeros.
        places: int32 `(tokens,)`, the index of each packed token in its run, if all
            steps have as many rows as the power of two.
        powers: a number above that of all powers of two, for which a graph is made.
    """

    table: tf.Tensor
    sizes: tf.Tensor
    places: tf.Tensor
    powers: int

    @property
    def rows(self) -> tf.Tensor:
        """The number of rows of the first run."""
        return tf.bitwise.left_shift(1, self.table[0, 0])


SIGNATURE = (
    tf.TensorSpec((None, 5), tf.int32),
    tf.TensorSpec((None,), tf.int32),
    tf.TensorSpec((None,), tf.int32),
)


def most_steps(rows: int) -> int:
    """The most steps of a run with this many rows."""
    return max(8, min(MOST_STEPS, 256 // rows))


def logarithms(sizes: np.ndarray) -> np.ndarray:
    """The logarithms to base 2 of numbers from 1 to 2^30, rounded up."""
    return np.ceil(np.log2(sizes)).astype(np.int32)


def runs_of(lengths: np.ndarray, powers: int) -> Runs:
    """The runs of sentences.

    Args:
        lengths: integers `(sentences,)`, 1 or more; the number of tokens of each.
        powers: see `Runs`.
    """
    sizes = len(lengths) - np.cumsum(np.bincount(lengths))[:-1]  # rows of each step
    starts, of_step = np.cumsum(sizes) - sizes, logarithms(sizes)
    table, places, step = [], [], 0
    while step < len(sizes):
        power = of_step[step]
        end = np.searchsorted(-of_step, -power, side="right")
        end = min(end, step + most_steps(2**power))
        some = sizes[step:end]
        table.append((power, step, len(some), starts[step], some.sum()))
        # Token t of the run is token t - start of its step.
        moved = 2**power * np.arange(len(some)) - (starts[step:end] - starts[step])
        places.append(np.arange(some.sum()) + np.repeat(moved, some))
        step = end
    arrays = table, np.pad(sizes, (0, MOST_STEPS)), np.concatenate(places)
    return Runs(*(tf.constant(array, tf.int32) for array in arrays), powers)
