"""Answers by TensorFlow's graphs, for SavedModels: the same as `decoding`."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from elmo_keras.heads.answering.decoding import NO_ANSWER
from elmo_keras.heads.answering.model import log_total

if TYPE_CHECKING:
    from elmo_keras.text.tokens import PlacedWords


def answers(model: Any, inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """`span` and `score` `(batch,)`, its probability, and `no_answer_score` if `unanswerable`.

    Spans are int32 `(batch, 2)`, first and last token, `NO_ANSWER` for none.
    """
    starts, ends, none = (tf.cast(x, tf.float32) for x in model(inputs, training=False))
    spans, scores = best_spans(starts, ends, model.longest_answer)
    spans = tf.where((scores >= none)[:, None], spans, NO_ANSWER)
    total = log_total((starts, ends, none))
    answers = {"span": spans, "score": tf.exp(tf.maximum(scores, none) - total)}
    if model.unanswerable:
        answers["no_answer_score"] = tf.exp(none - total)
    return answers


def as_utf8(texts: tf.Tensor) -> tf.Tensor:
    """Texts with a space for bytes that are not UTF-8."""
    return tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", replacement_char=ord(" ")
    )


def text_answers(
    texts: tf.Tensor,
    context: "PlacedWords",
    question: "PlacedWords",
    answers: Mapping[str, tf.Tensor],
    endings: Sequence[str],
) -> dict[str, tf.Tensor]:
    """The output of `answers`, with spans as pieces of contexts `(batch,)`.

    `begin` and `end` are numbers of characters, −1 for none. If one of the texts
    has no word, there is no answer, with the score 0.
    """
    first, last = tf.unstack(answers["span"], axis=1)
    lengths = [text.words.row_lengths() for text in (context, question)]
    has_words = tf.reduce_all(tf.stack(lengths) > 0, axis=0)
    is_answer = (first >= 0) & has_words
    first, last = (tf.where(is_answer, x, 0) for x in (first, last))
    # One more column, so that there is a first one.
    begins, ends = (
        tf.pad(x.to_tensor(), [[0, 0], [0, 1]]) for x in (context.begins, context.ends)
    )
    begin, begin_of_last = (tf.gather(begins, x, batch_dims=1) for x in (first, last))
    end = tf.gather(ends, last, batch_dims=1)
    token = tf.strings.substr(texts, begin_of_last, end - begin_of_last)
    if endings:  # as `OffsetTokens.answer`
        pattern = "|".join(map(re.escape, endings))
        token = tf.strings.regex_replace(token, f"(.)(?:{pattern})$", r"\1")
    size = begin_of_last - begin + tf.strings.length(token)  # bytes
    answer = tf.strings.substr(texts, begin, tf.where(is_answer, size, 0))
    before = tf.strings.substr(texts, tf.zeros_like(begin), begin)
    begin = tf.strings.length(before, unit="UTF8_CHAR")
    end = begin + tf.strings.length(answer, unit="UTF8_CHAR")
    scores = {
        name: tf.where(has_words, x, 0.0)
        for name, x in answers.items()
        if name != "span"
    }
    return scores | {
        "answer": answer,
        "begin": tf.where(is_answer, begin, -1),
        "end": tf.where(is_answer, end, -1),
    }


def best_spans(
    start_scores: tf.Tensor, end_scores: tf.Tensor, longest: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """The best spans of at most `longest`, first and last position `(batch, 2)`; their scores."""
    starts, ends = tf.convert_to_tensor(start_scores), tf.convert_to_tensor(end_scores)
    time = tf.shape(starts)[1]
    padding = [[0, 0], [0, longest - 1]]
    ends = tf.pad(ends, padding, constant_values=ends.dtype.min)
    # (batch, time, longest): by first position and distance to the last one
    ends = tf.stack([ends[:, i : i + time] for i in range(longest)], axis=2)
    # The lowest number and another low one may sum to minus infinity, which is harmless.
    scores = tf.reshape(starts[:, :, None] + ends, [-1, time * longest])
    best = tf.argmax(scores, axis=1, output_type=tf.int32)
    first = best // longest
    last = first + tf.math.floormod(best, longest)
    spans = tf.stack([first, last], axis=1)
    return spans, tf.reduce_max(scores, axis=1)
