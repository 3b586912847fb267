"""From tokens to character ids: one function for training, prediction, serving."""

import tensorflow as tf

from elmo_keras.config import ElmoConfig

BEGIN_OF_SENTENCE_TOKEN = "<S>"
END_OF_SENTENCE_TOKEN = "</S>"

# The published ids of training; a prediction id is one more, 0 marks a masked
# position.
BEGIN_OF_SENTENCE = 256
END_OF_SENTENCE = 257
BEGIN_OF_WORD = 258
END_OF_WORD = 259
PADDING = 260


def character_ids(tokens: tf.Tensor, config: ElmoConfig) -> tf.Tensor:
    """Character ids of every token.

    A token becomes begin of word, its UTF-8 bytes, end of word, padding. The
    tokens `<S>` and `</S>` have one character, begin or end of sentence.

    Args:
        tokens: string tensor of any shape, any bytes.
        config: tells the length of a row, where longer words are cut and
            whether they are normalised.

    Returns:
        int32 `(..., config.max_characters_per_token)`, each the published
        training id plus one. No id is 0: which tokens are padding is for the
        caller to say.

    Reference: bilm-tf, `UnicodeCharsVocabulary`.
    """
    tokens = tf.convert_to_tensor(tokens, tf.string)
    length = config.max_characters_per_token
    flat, sentence_boundary = _set_apart_boundaries(tf.reshape(tokens, [-1]))
    flat = _normalized(flat, config)
    content = tf.io.decode_raw(flat, tf.uint8, fixed_length=length)
    content = tf.reshape(tf.cast(content, tf.int32), [-1, length])
    ends = _ends(flat, content, config)[:, None]
    content = tf.where(sentence_boundary > 0, sentence_boundary, content)
    # The content starts behind the begin of word; what the roll brings to the
    # front and what stands at the end of the word and behind it is overwritten.
    ids = tf.roll(content, shift=1, axis=1)
    place = tf.range(length)[None, :] - 1
    ids = tf.where(place < 0, BEGIN_OF_WORD, ids)
    ids = tf.where(place == ends, END_OF_WORD, ids)
    ids = tf.where(place > ends, PADDING, ids)
    return tf.reshape(ids + 1, tf.concat([tf.shape(tokens), [length]], axis=0))


def words_cut(tokens: tf.Tensor, config: ElmoConfig) -> tf.Tensor:
    """Whether each token is too long and loses its end: bool, shape of `tokens`."""
    tokens = tf.convert_to_tensor(tokens, tf.string)
    lengths = tf.strings.length(_normalized(tokens, config))
    return lengths > config.max_characters_per_token - 2


def _set_apart_boundaries(tokens):
    """Tokens with one byte for `<S>` and `</S>`, and the character it stands for."""
    begins = tokens == BEGIN_OF_SENTENCE_TOKEN
    ends = tokens == END_OF_SENTENCE_TOKEN
    character = tf.where(ends, END_OF_SENTENCE, tf.where(begins, BEGIN_OF_SENTENCE, 0))
    return tf.where(begins | ends, "S", tokens), character[:, None]


def _normalized(tokens, config):
    if config.unicode_normalization is None:
        return tokens
    try:  # optional, and its graphs load only where it is imported
        import tensorflow_text
    except ImportError as error:
        raise ImportError(
            f"`unicode_normalization` {config.unicode_normalization!r} needs "
            "tensorflow-text: pip install 'elmo-keras[text]'."
        ) from error
    return tensorflow_text.normalize_utf8(tokens, config.unicode_normalization)


def _ends(tokens, content, config):
    """Number of bytes of each token that are kept."""
    most = config.max_characters_per_token - 2
    lengths = tf.strings.length(tokens)
    if config.cut_at == "byte":
        return tf.minimum(lengths, most)
    # A cut must not fall before a continuation byte, 10xxxxxx. A character has
    # three of them at most; with more it is not UTF-8 and is cut as bytes.
    first = max(most - 3, 0)
    starts = tf.bitwise.bitwise_and(content[:, first : most + 1], 0xC0) != 0x80
    places = tf.where(starts, tf.range(first, most + 1), -1)
    last_start = tf.reduce_max(places, axis=1)
    cut = tf.where(last_start >= 0, last_start, most)
    return tf.where(lengths > most, cut, lengths)
