"""`split_words` in a graph of TensorFlow, with its core operations only."""

import functools
import re
import sys
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.text.tokenizers import ZERO_WIDTH_JOINER, extends

# Bits of a character's class; above them, the letter that it is in a contraction.
_ALNUM, _LATIN, _DIGIT, _SPACE, _EXTENDS = 1, 2, 4, 8, 16
_LETTER = 256
_CLASSES = {
    _ALNUM: r"[^\W_]",
    _LATIN: "[a-z0-9]",
    _DIGIT: "[0-9]",
    _SPACE: r"[\s\u200b]",
}
_LETTERS = "dlmnrestv"
_SPACES = " " * 4  # no rule looks further ahead
_PERCENT, _JOINER, _BLANK = map(ord, ("%", ZERO_WIDTH_JOINER, " "))


class PlacedWords(NamedTuple):
    """Words, and the number of bytes of their text before them and up to their ends."""

    words: tf.RaggedTensor  # (batch, words)
    begins: tf.RaggedTensor
    ends: tf.RaggedTensor


def placed_words(texts: tf.Tensor) -> PlacedWords:
    """The words that `split_words` gives for texts `(batch,)` in UTF-8, with their places."""
    decoded, offsets = tf.strings.unicode_decode_with_offsets(
        tf.strings.join([texts, _SPACES]), "UTF-8"
    )
    characters = _Characters(decoded.flat_values)
    begins = _begins(characters)
    is_text = ~characters.has(_SPACE)
    ends = is_text & (_shifted(begins, 1, True) | characters.has(_SPACE, 1))
    rows = tf.boolean_mask(decoded.value_rowids(), begins)
    places = tf.cast(offsets.flat_values, tf.int32)
    first = tf.boolean_mask(places, begins)
    after = tf.boolean_mask(_shifted(places, 1, 0), ends)
    # Of their characters, as a piece of a text would need a copy of all of it.
    letters = tf.RaggedTensor.from_value_rowids(  # pyright: ignore[reportAttributeAccessIssue]
        tf.boolean_mask(characters.at(0), is_text),
        tf.boolean_mask(tf.cumsum(tf.cast(begins, tf.int64)) - 1, is_text),
        tf.size(rows, tf.int64),
    )
    tokens = tf.strings.unicode_encode(letters, "UTF-8")
    ragged = tf.RaggedTensor.from_value_rowids(tokens, rows, decoded.nrows())  # pyright: ignore[reportAttributeAccessIssue]
    return PlacedWords(ragged, *map(ragged.with_flat_values, (first, after)))


class _Characters:
    """The characters of all texts, and those before and after each."""

    def __init__(self, code_points):
        starts, classes = _tables()
        index = tf.searchsorted(starts, code_points, side="right") - 1
        self._code_points, self._classes = code_points, tf.gather(classes, index)

    def at(self, distance):
        return _shifted(self._code_points, distance, _BLANK)

    def has(self, bit, distance=0):
        classes = _shifted(self._classes, distance, _SPACE)
        return tf.bitwise.bitwise_and(classes, bit) > 0

    def is_in(self, characters, distance=0):
        here = self.at(distance)
        return functools.reduce(tf.logical_or, [here == ord(c) for c in characters])

    def is_letter(self, letter, distance):
        classes = _shifted(self._classes, distance, _SPACE)
        return classes // _LETTER == 1 + _LETTERS.index(letter)


def _begins(characters):
    """Whether a token begins at each character."""
    short, long = _contractions(characters)
    contraction = short | long
    is_inner = characters.is_in(".,'’·/-") & ~contraction
    is_inner &= characters.has(_LATIN, -1) & characters.has(_LATIN, 1)
    in_word = characters.has(_ALNUM) | is_inner
    after = tf.logical_or(_shifted(short, -2, False), _shifted(long, -3, False))
    repeated = characters.is_in(".!?~") & (characters.at(0) == characters.at(-1))
    percent = (characters.at(0) == _PERCENT) & characters.has(_DIGIT, -1)
    continues = (
        in_word & _shifted(in_word, -1, False) & ~contraction & tf.logical_not(after)
    )
    continues |= _shifted(contraction, -1, False) | _shifted(long, -2, False)
    begins = ~characters.has(_SPACE) & ~(continues | repeated | percent)
    return _without_marks(characters, begins)


def _contractions(characters):
    """Whether one of two, and one of three characters begins at each character."""
    is_, quote = characters.is_letter, "'’"
    short = is_("s", 1) | is_("m", 1) | is_("d", 1)
    short &= characters.is_in(quote) & ~characters.has(_ALNUM, 2)
    pairs = [is_(a, 1) & is_(b, 2) for a, b in ("re", "ve", "ll")]
    long = functools.reduce(tf.logical_or, pairs) & characters.is_in(quote)
    long |= is_("n", 0) & characters.is_in(quote, 1) & is_("t", 2)
    return short, long & ~characters.has(_ALNUM, 3)


def _without_marks(characters, begins):
    """The beginnings that `join_at_marks` leaves."""
    adjacent = ~characters.has(_SPACE, -1)
    joined = characters.has(_EXTENDS) | (characters.at(-1) == _JOINER)
    begins &= ~(adjacent & joined)
    # After a mark a letter continues a token that begins with a letter. Tokens that begin
    # with such letters do, so that only the first of them may begin one.
    after_mark = begins & adjacent
    after_mark &= characters.has(_ALNUM) & characters.has(_EXTENDS, -1)
    first = begins & ~after_mark
    count = tf.cumsum(tf.cast(after_mark, tf.int32))
    chain = tf.cumsum(tf.cast(first, tf.int32))
    before = tf.concat([[0], tf.boolean_mask(count, first)], 0)
    is_word = tf.concat([[True], tf.boolean_mask(characters.has(_ALNUM), first)], 0)
    is_next = count - tf.gather(before, chain) == 1
    is_first = tf.logical_not(tf.gather(is_word, chain))
    return first | (after_mark & is_next & is_first)


def _shifted(values, distance, fill):
    """The values at a distance from each one's position, with a filling at the end."""
    filling = tf.fill([abs(distance)], tf.cast(fill, values.dtype))
    if distance < 0:
        return tf.concat([filling, values], 0)[: tf.size(values)]
    return tf.concat([values, filling], 0)[distance:]


@functools.cache
def _tables():
    """Where runs of characters of one class start, and their classes, by Python."""
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    classes = np.zeros(len(characters), np.int32)
    for bit, pattern in _CLASSES.items():
        for match in re.finditer(f"{pattern}+", characters, re.IGNORECASE):
            classes[match.start() : match.end()] |= bit
    for i, letter in enumerate(_LETTERS, 1):
        for match in re.finditer(letter, characters, re.IGNORECASE):
            classes[match.start()] += _LETTER * i
    classes[[extends(character) for character in characters]] |= _EXTENDS
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    return starts.astype(np.int32), classes[starts]
