"""The texts of answers, from the tokens that they begin and end in."""

from collections.abc import Mapping

import tensorflow as tf

from elmo_keras.tasks.answer.words_in_graph import PlacedWords

NOWHERE = -1  # begin and end of no answer


def text_answers(
    context: PlacedWords, question: PlacedWords, found: Mapping[str, tf.Tensor]
) -> dict[str, tf.Tensor]:
    """The answers as pieces of their contexts, cut out by a graph.

    If one of the texts has no word, there is no answer, with the score 0.

    Args:
        context, question: the words of each text.
        found: what `Answerer.answers` gives for them.

    Returns:
        `answer`, strings `(batch,)`, `""` for none; `begin` and `end`, int32 `(batch,)`,
        the numbers of characters before the answer and up to its end, `NOWHERE` for
        none; and the scores of `found`.
    """
    first, last, before, after = tf.unstack(found["span"], axis=1)
    lengths = [text.words.row_lengths() for text in (context, question)]
    has_words = tf.reduce_all(tf.stack(lengths) > 0, axis=0)
    is_answer = (first >= 0) & has_words
    first, last, before, after = (
        tf.where(is_answer, x, 0) for x in (first, last, before, after)
    )
    # One more column, so that there is a first one.
    begins, ends = (
        tf.pad(x.to_tensor(), [[0, 0], [0, 1]]) for x in (context.begins, context.ends)
    )
    begin = tf.gather(begins, first, batch_dims=1)
    whole = tf.gather(ends, last, batch_dims=1) - begin  # bytes
    tokens = tf.strings.substr(context.texts, begin, tf.where(is_answer, whole, 0))
    left = tf.strings.length(tokens, unit="UTF8_CHAR") - before - after
    answer = tf.strings.substr(tokens, before, left, unit="UTF8_CHAR")
    in_front = tf.strings.substr(context.texts, tf.zeros_like(begin), begin)
    begin = tf.strings.length(in_front, unit="UTF8_CHAR") + before
    scores = {
        name: tf.where(has_words, x, 0.0) for name, x in found.items() if name != "span"
    }
    return scores | {
        "answer": answer,
        "begin": tf.where(is_answer, begin, NOWHERE),
        "end": tf.where(is_answer, begin + left, NOWHERE),
    }
