"""Tags and spans by TensorFlow's graphs, for SavedModels: the same as `decoding`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from elmo_keras.heads.tagger.crf import best_tags, tag_log_probabilities
from elmo_keras.heads.tagger.entities import END, INSIDE, OUTSIDE, marks_spans
from elmo_keras.text.tokens import token_mask


def answers(model: Any, inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """`tags` `(batch, time)`, their probabilities `scores`, and the spans that they mark.

    If tags mark spans, there are also `span_count` `(batch,)`, and in column i of
    `span_types`, `span_begins`, `span_ends` and `span_scores`, all `(batch, time)`, the
    type of span i, its first token, the one after its last, and the probability that its
    tokens have their tags.
    """
    outputs = tf.cast(model(inputs, training=False), tf.float32)
    mask = token_mask(inputs["tokens"])
    crf = model.crf and model.crf.weights_in("float32").only(model.crf.allowed)
    if crf is None:
        ids = tf.where(mask, tf.argmax(outputs, axis=-1, output_type=tf.int32), -1)
    else:
        ids = best_tags(crf, outputs, mask)
    alone, after = tag_log_probabilities(outputs, ids, crf)
    names = tf.gather(tf.constant(model.tags), tf.maximum(ids, 0))
    answers = {
        "tags": tf.where(ids >= 0, names, ""),
        "scores": tf.where(ids >= 0, tf.exp(alone), 0.0),
    }
    if not marks_spans(model.tags):
        return answers
    spans = tag_spans(ids, model.tags)
    return answers | {
        "span_count": spans.count,
        "span_types": spans.types,
        "span_begins": spans.begins,
        "span_ends": spans.ends,
        "span_scores": span_probabilities(spans, alone, after),
    }


class TagSpans(NamedTuple):
    """Spans of each sentence: column i holds span i, in the order of the tokens."""

    begins: tf.Tensor  # int32 (batch, time), the first token; −1 for no span
    ends: tf.Tensor  # int32 (batch, time), the token after the last one, or −1
    types: tf.Tensor  # strings (batch, time), "" for no span
    count: tf.Tensor  # int32 (batch,), the number of spans


def tag_spans(ids: tf.Tensor, tags: Sequence[str]) -> TagSpans:
    """The spans of `entities`, from int32 tags `(batch, time)`, −1 at padding."""

    def before_and_after(values):
        """The values of the tag before each boundary, and of the one after it."""
        values_of_tags = tf.gather(tf.constant(values), padded)
        return values_of_tags[:, :-1], values_of_tags[:, 1:]

    def columns(marked):
        """The positions that are marked in each row, then −1: `(batch, time)`."""
        time = tf.shape(marked)[1]
        positions = tf.sort(tf.where(marked, tf.range(time), time), axis=1)
        return tf.where(positions < time, positions, -1)

    names = [*tags, OUTSIDE]  # the last one for padding
    types = [name[2:] for name in names]
    distinct = sorted(set(types))
    padded = tf.pad(ids, [[0, 0], [1, 1]], constant_values=-1)
    padded = tf.where(padded < 0, len(tags), padded)
    was_open, is_open = before_and_after([name != OUTSIDE for name in names])
    ended, _ = before_and_after([name[0] in END for name in names])
    _, continues = before_and_after([name[0] in INSIDE for name in names])
    type_before, type_after = before_and_after([distinct.index(t) for t in types])
    ends_here = ended | ~continues | (type_before != type_after)
    begins = columns((is_open & (~was_open | ends_here))[:, :-1])
    ends = columns((was_open & ends_here)[:, 1:])
    first = tf.gather(ids, tf.maximum(begins, 0), batch_dims=1)
    type_names = tf.gather(tf.constant(types), tf.maximum(first, 0))
    is_span = begins >= 0
    return TagSpans(
        begins,
        tf.where(is_span, ends + 1, -1),
        tf.where(is_span, type_names, ""),
        tf.reduce_sum(tf.cast(is_span, tf.int32), axis=1),
    )


def span_probabilities(
    spans: TagSpans, alone: tf.Tensor, after: tf.Tensor
) -> tf.Tensor:
    """The probability that a span's tokens have their tags: `(batch, time)`, 0 for none.

    `alone` and `after` are the results of `crf.tag_log_probabilities`.
    """
    first, last = tf.maximum(spans.begins, 0), tf.maximum(spans.ends - 1, 0)
    sums = tf.cumsum(after, axis=1)
    total = tf.gather(alone, first, batch_dims=1)
    total += tf.gather(sums, last, batch_dims=1)
    total -= tf.gather(sums, first, batch_dims=1)
    return tf.where(spans.begins >= 0, tf.exp(tf.minimum(total, 0.0)), 0.0)
