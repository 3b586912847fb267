"""The spans that tags mark, found by operations of a graph."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from elmo_keras.tasks.tag.entities import END, INSIDE, OUTSIDE

NOWHERE = -1  # in columns after the last span


class TagSpans(NamedTuple):
    """Spans of each sentence: column i holds span i, in the order of the tokens."""

    begins: tf.Tensor  # int32 (batch, time), the first token; `NOWHERE` for no span
    ends: tf.Tensor  # int32 (batch, time), the token after the last one, or `NOWHERE`
    types: tf.Tensor  # strings (batch, time), "" for no span
    count: tf.Tensor  # int32 (batch,), the number of spans


def marks_spans(tags: Sequence[str]) -> bool:
    """Whether tags mark spans, or parts of speech and the like."""
    return any(tag.startswith("B-") for tag in tags)


def tag_spans(numbers: tf.Tensor, tags: Sequence[str]) -> TagSpans:
    """The spans that `entities.entities` finds in int32 tags `(batch, time)`.

    >>> spans = tag_spans(tf.constant([[2, 1, 0]]), ["B-LOC", "I-PER", "O"])
    >>> spans.begins.numpy().tolist(), spans.types.numpy().tolist()
    ([[1, 2, -1]], [[b'PER', b'LOC', b'']])
    """
    names = [*tags, OUTSIDE]  # the last one for padding
    types = [name[2:] for name in names]
    kinds = sorted(set(types))
    padded = tf.pad(numbers, [[0, 0], [1, 1]], constant_values=-1)
    padded = tf.where(padded < 0, len(tags), padded)

    def of(values):
        """What holds of the tag before each boundary, and of the one after it."""
        found = tf.gather(tf.constant(values), padded)
        return found[:, :-1], found[:, 1:]

    was_open, is_open = of([name != OUTSIDE for name in names])
    ended, _ = of([name[0] in END for name in names])
    _, continues = of([name[0] in INSIDE for name in names])
    kind_before, kind = of([kinds.index(type_) for type_ in types])
    ends_here = ended | ~continues | (kind_before != kind)
    begins = _columns((is_open & (~was_open | ends_here))[:, :-1])
    ends = _columns((was_open & ends_here)[:, 1:])
    first = tf.gather(numbers, tf.maximum(begins, 0), batch_dims=1)
    type_names = tf.gather(tf.constant(types), tf.maximum(first, 0))
    is_span = begins >= 0
    return TagSpans(
        begins,
        tf.where(is_span, ends + 1, NOWHERE),
        tf.where(is_span, type_names, ""),
        tf.reduce_sum(tf.cast(is_span, tf.int32), axis=1),
    )


def _columns(marked):
    """The positions that are marked in each row, then `NOWHERE`: `(batch, time)`."""
    places = tf.cast(tf.where(marked), tf.int32)  # (marked, 2), row by row
    order = tf.cumsum(tf.cast(marked, tf.int32), axis=1, exclusive=True)
    targets = tf.stack([places[:, 0], tf.gather_nd(order, places)], axis=1)
    nowhere = tf.fill(tf.shape(marked), NOWHERE)
    return tf.tensor_scatter_nd_update(nowhere, targets, places[:, 1])
