"""`split_words` in a graph of TensorFlow, with its core operations only."""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.text.word_rules import MARK, word_rules


class PlacedWords(NamedTuple):
    """Words, and the number of bytes of their text before them and up to their ends."""

    words: tf.RaggedTensor  # (batch, words)
    begins: tf.RaggedTensor
    ends: tf.RaggedTensor


def placed_words(texts: tf.Tensor, tokenizer: str = "words") -> PlacedWords:
    """The words that `split_words` gives for texts `(batch,)` in UTF-8, with their places.

    Bytes that are not UTF-8 are spaces.
    """
    texts = tf.strings.regex_replace(texts, MARK, " ")
    for pattern, replacement in word_rules(tokenizer, explicit=True):
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    parts = tf.strings.split(texts, MARK)
    rows = parts.value_rowids()
    first = tf.cast(tf.gather(parts.row_starts(), rows), tf.int32)
    lengths = tf.strings.length(parts.flat_values)
    ends = tf.cumsum(lengths)
    before = tf.gather(tf.concat([[0], ends], 0), first)  # of earlier texts
    is_word = (tf.range(tf.size(rows)) - first) % 2 == 1
    is_word &= lengths > 0
    columns = parts.flat_values, ends - lengths - before, ends - before
    rows, *columns = (tf.boolean_mask(x, is_word) for x in (rows, *columns))
    words = tf.RaggedTensor.from_value_rowids(columns[0], rows, parts.nrows())  # pyright: ignore[reportAttributeAccessIssue]
    return PlacedWords(words, *map(words.with_flat_values, columns[1:]))
