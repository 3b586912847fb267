"""Words of texts and their offsets, and the pieces of texts that answer questions."""

import bisect
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from elmo_keras.text.tokenizers import word_spans

if TYPE_CHECKING:
    import tensorflow as tf

    from elmo_keras.text.tokens import PlacedWords

LONGEST_ANSWER = 30  # tokens
NO_ANSWER, NOT_KNOWN = -1, -2  # labels instead of tokens


class OffsetTokens(NamedTuple):
    tokens: list[str]
    begins: Sequence[int]
    ends: Sequence[int]

    def answer(
        self, source: str, first: int, last: int, endings: Collection[str] = ()
    ) -> str:
        """The piece of a text from its first to its last token.

        It loses the longest of the endings that leaves something of the last token.

        >>> offset_tokens("서울에서는").answer("서울에서는", 0, 0, ["는", "에서는"])
        '서울'
        """
        token = self.tokens[last]
        sizes = (i for i in range(1, len(token)) if token[i:] in endings)
        size = next(sizes, len(token))
        return source[self.begins[first] : self.begins[last] + size]

    def span(self, begin: int, end: int) -> tuple[int, int] | None:
        """First and last token of the characters `[begin, end)`; None if there is none."""
        first = bisect.bisect_right(self.ends, begin)
        last = bisect.bisect_left(self.begins, end) - 1
        return (first, last) if first <= last else None


def offset_tokens(text: str) -> OffsetTokens:
    """The tokens of `split_words`, with their places."""
    spans = word_spans(text)
    return OffsetTokens(
        [text[begin:end] for begin, end in spans],
        [begin for begin, _ in spans],
        [end for _, end in spans],
    )


def as_utf8(texts: "tf.Tensor") -> "tf.Tensor":
    """Texts with a space for bytes that are not UTF-8."""
    import tensorflow as tf

    return tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", replacement_char=ord(" ")
    )


def text_answers(
    texts: "tf.Tensor",
    context: "PlacedWords",
    question: "PlacedWords",
    answers: "Mapping[str, tf.Tensor]",
    endings: Sequence[str],
) -> "dict[str, tf.Tensor]":
    """What `QuestionAnswering.answers` gives, with spans as pieces of contexts `(batch,)`.

    `begin` and `end` are numbers of characters, −1 for none. If one of the texts
    has no word, there is no answer, with the score 0.
    """
    import tensorflow as tf

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
