"""Words of texts and their offsets, and answers as texts, computed by a graph."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import tensorflow as tf

# Classes of characters, within brackets, of RE2's expressions; they look neither ahead
# nor back, and a long one runs slowly.
_LETTERS = r"\pL\pN"
_EXTENDING = r"\pM\x{200C}\x{200D}\x{2060}\x{AD}"
_SPACES = r"\s\v\x1c-\x1f\x{85}\x{200B}\pZ"
# Characters that no text should hold: before and after a word, and at the end of one
# that begins with a sign.
_RESERVED, _IN_THEIR_PLACE = "[\ufdd0-\ufdef]", "\ufffd"  # three bytes each
_BEFORE, _AFTER, _CLOSED = "\ufdd0", "\ufdd1", "\ufdd2"
# Applied one after another, these find the words of `offset_tokens`.
_STEPS = (
    (_RESERVED, _IN_THEIR_PLACE),
    (rf"[{_LETTERS}_]+|[^{_SPACES}]", rf"{_BEFORE}\0{_AFTER}"),
    # A mark belongs to what it follows, and what follows a joiner belongs to it.
    (rf"{_AFTER}{_BEFORE}([{_EXTENDING}])", r"\1"),
    (rf"(\x{{200D}}){_AFTER}{_BEFORE}", r"\1"),
    # In a word that begins with a letter, letters after a mark belong to it as well.
    (rf"({_BEFORE}[^{_LETTERS}{_AFTER}][^{_AFTER}]*)", rf"\1{_CLOSED}"),
    (rf"([{_EXTENDING}]){_AFTER}{_BEFORE}([{_LETTERS}])", r"\1\2"),
    (_CLOSED, ""),
)


class PlacedWords(NamedTuple):
    texts: tf.Tensor  # (batch,), with a space for bytes that are not UTF-8
    words: tf.RaggedTensor  # (batch, words)
    begins: tf.RaggedTensor  # int32, the number of bytes of the text before a word
    ends: tf.RaggedTensor  # int32, and up to its end


def words_in_graph(texts: tf.Tensor) -> PlacedWords:
    """The words of texts `(batch,)`, split as by `offset_tokens`.

    Letters and marks that are new in the Unicode version of RE2, or of Python, are split
    differently, and noncharacters from U+FDD0 on become U+FFFD.
    """
    texts = tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", replacement_char=ord(" ")
    )
    marked = texts
    for pattern, replacement in _STEPS:
        marked = tf.strings.regex_replace(marked, pattern, replacement)
    pieces = tf.strings.split(marked, sep=_AFTER)[:, :-1]  # of the gap and the word
    halves = tf.strings.split(pieces.flat_values, sep=_BEFORE).flat_values
    gaps, words = tf.unstack(tf.reshape(halves, [-1, 2]), axis=1)
    sizes = tf.strings.length(gaps) + tf.strings.length(words)
    before_row = tf.gather(tf.pad(tf.cumsum(sizes), [[1, 0]]), pieces.row_starts())
    ends = tf.cumsum(sizes) - tf.repeat(before_row, pieces.row_lengths())
    begins = ends - tf.strings.length(words)
    return PlacedWords(texts, *map(pieces.with_flat_values, (words, begins, ends)))


NOWHERE = -1  # begin and end of no answer


def text_answers(
    context: PlacedWords,
    question: PlacedWords,
    answers: Mapping[str, tf.Tensor],
    endings: Sequence[str],
) -> dict[str, tf.Tensor]:
    """What `QuestionAnswering.answers` gives, with spans as pieces of their contexts.

    `begin` and `end` are numbers of characters, `NOWHERE` for none. If one of the texts
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
    token = tf.strings.substr(context.texts, begin_of_last, end - begin_of_last)
    if endings:  # as `OffsetTokens.answer`
        pattern = "|".join(map(re.escape, endings))
        token = tf.strings.regex_replace(token, f"(.)(?:{pattern})$", r"\1")
    size = begin_of_last - begin + tf.strings.length(token)  # bytes
    answer = tf.strings.substr(context.texts, begin, tf.where(is_answer, size, 0))
    before = tf.strings.substr(context.texts, tf.zeros_like(begin), begin)
    begin = tf.strings.length(before, unit="UTF8_CHAR")
    end = begin + tf.strings.length(answer, unit="UTF8_CHAR")
    scores = {
        name: tf.where(has_words, x, 0.0)
        for name, x in answers.items()
        if name != "span"
    }
    return scores | {
        "answer": answer,
        "begin": tf.where(is_answer, begin, NOWHERE),
        "end": tf.where(is_answer, end, NOWHERE),
    }
