"""Segments: rows cut where a sentence starts from the zero state.

A row whose state becomes zero within a window is two rows to the LSTM, one that
continues from the previous window and a shorter one that starts from zeros. Stored
step by step (`layers.packing`), they take as many tokens as before, so this costs
nothing. Training, whose windows are shorter, has `layers.full_rows` for it.
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf


class Segments(NamedTuple):
    """The segments of a window, packed; the longest segments come first; all int32."""

    order: Any  # (rows · time,), the index of each packed token in the window
    sizes: Any  # (steps,), the number of segments with a token at each step
    begin: Any  # (segments,), the row that a segment continues; for zeros, their number
    last: Any  # (rows,), the last segment of each row

    @classmethod
    def of(cls, from_zero: np.ndarray) -> "Segments":
        """The segments of `from_zero` `(rows, time)`, see `windows.Window`.

        >>> [x.tolist() for x in Segments.of(np.array([[False, True, False]]))]
        [[1, 0, 2], [2, 1], [1, 0], [0]]
        """
        n_rows, time = from_zero.shape
        starting = from_zero.copy()
        starting[:, 0] = True
        starts = np.flatnonzero(starting)
        longest_first = np.argsort(
            -np.diff(starts, append=starting.size), kind="stable"
        )
        rank = np.argsort(longest_first)
        segment = np.cumsum(starting) - 1  # of each token
        step = np.arange(starting.size) - starts[segment]
        begin = np.where(from_zero.ravel()[starts], n_rows, starts // time)
        arrays = (
            np.lexsort((rank[segment], step)),
            np.bincount(step),
            begin[longest_first],
            rank[segment.reshape(from_zero.shape)[:, -1]],
        )
        return cls(*(array.astype(np.int32) for array in arrays))


def over_segments(function, inputs, segments: Segments, *, state):
    """Applies a recurrent `function` to the segments of rows without padding.

    Inputs `(rows, time, dim)` and the state `(rows, …)` that the rows continue from;
    outputs `(rows, time, …)` and the state at the end of each row.
    """
    shape = tf.shape(inputs)
    tokens = tf.reshape(inputs, [-1, inputs.shape[-1]])
    outputs, state = function(
        tf.gather(tokens, segments.order),
        segments.sizes,
        tf.nest.map_structure(
            lambda rows: tf.gather(
                tf.concat([rows, tf.zeros_like(rows[:1])], 0), segments.begin
            ),
            state,
        ),
    )

    def unpacked(packed):
        dim = packed.shape[-1]
        flat = [shape[0] * shape[1], dim]
        flat = tf.scatter_nd(segments.order[:, None], packed, flat)
        padded = tf.reshape(flat, [shape[0], shape[1], dim])
        return tf.ensure_shape(padded, (*inputs.shape[:2], dim))

    last = tf.nest.map_structure(lambda x: tf.gather(x, segments.last), state)
    return tf.nest.map_structure(unpacked, outputs), last
