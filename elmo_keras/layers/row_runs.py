"""Series of steps with a fixed number of rows, for compiled functions.

The rows of packed sentences (`packing.Packing`) get fewer as sentences end, and a
compiled function needs shapes that don't vary. A run is a series of steps whose numbers
of rows are the same when they are rounded up to a power of two.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

POWERS = 3
MOST_ROWS = 2 ** (POWERS - 1)  # with more rows, nothing is gained
MOST_STEPS = 32


class Runs(NamedTuple):
    """The runs of a batch: its steps of at most `MOST_ROWS` rows, which are the last.

    Attributes:
        table: int32 `(runs, 5)`: the power of two, the first step, the number of steps,
            the first packed token and the number of tokens.
        sizes: int32 `(steps + MOST_STEPS,)`, the number of tokens of each step, and
            zeros.
        places: int32 `(tokens,)`, the index of each packed token in its run, if all
            steps have as many rows as the power of two.
        kind: `Kind`.
    """

    table: tf.Tensor
    sizes: tf.Tensor
    places: tf.Tensor
    kind: "Kind"

    @property
    def tensors(self) -> tuple[tf.Tensor, ...]:
        """All but the kind."""
        return self[:3]

    @property
    def rows(self) -> tf.Tensor:
        """The number of rows of the first run."""
        return tf.bitwise.left_shift(1, self.table[0, 0])


class Kind(NamedTuple):
    """What differs in the graphs of batches.

    Attributes:
        powers: a number above those of all runs.
        larger_first: whether steps of more rows come before the runs.
    """

    powers: int
    larger_first: bool


SINGLE, FEW, MANY = Kind(1, False), Kind(POWERS, False), Kind(POWERS, True)
SIGNATURE = (  # of `Runs.tensors`
    tf.TensorSpec((None, 5), tf.int32),
    tf.TensorSpec((None,), tf.int32),
    tf.TensorSpec((None,), tf.int32),
)


def most_steps(rows: int) -> int:
    """The most steps of a run with this many rows."""
    return min(MOST_STEPS, 64 // rows)


def kind_of(n_sentences: int) -> Kind:
    """The kind of a batch."""
    if n_sentences == 1:
        return SINGLE
    return FEW if n_sentences <= MOST_ROWS else MANY


def runs_of(lengths: np.ndarray) -> Runs:
    """The runs of sentences.

    Args:
        lengths: integers `(sentences,)`, 1 or more; the number of tokens of each.
    """
    sizes = len(lengths) - np.cumsum(np.bincount(lengths))[:-1]  # rows of each step
    starts = np.cumsum(sizes) - sizes
    powers = np.ceil(np.log2(sizes)).astype(int)
    step = int(np.searchsorted(-sizes, -MOST_ROWS))  # sizes never rise
    table, places = [], [np.zeros(sizes[:step].sum(), int)]
    while step < len(sizes):
        end = np.searchsorted(-powers, -powers[step], side="right")
        rows = 2 ** powers[step]
        end = min(end, step + most_steps(rows))
        some = sizes[step:end]
        table.append((powers[step], step, len(some), starts[step], some.sum()))
        moved = rows * np.arange(len(some)) - (starts[step:end] - starts[step])
        places.append(np.arange(some.sum()) + np.repeat(moved, some))
        step = end
    table = np.reshape(table, (-1, 5))
    arrays = table, np.pad(sizes, (0, MOST_STEPS)), np.concatenate(places)
    tensors = (tf.constant(array, tf.int32) for array in arrays)
    return Runs(*tensors, kind_of(len(lengths)))
