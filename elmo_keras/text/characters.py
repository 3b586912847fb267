"""From tokens to character ids: one function for training, prediction and serving."""

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.base.extras import import_extra
from elmo_keras.config import ElmoConfig
from elmo_keras.text.dictionary import TokenDictionary
from elmo_keras.text.tokens import dense_tokens, string_tensor
from elmo_keras.text.word_ids import (
    BEGIN_OF_SENTENCE,
    BEGIN_OF_WORD,
    BOUNDARIES,
    DICTIONARY_BOUNDARIES,
    END_OF_SENTENCE,
    END_OF_WORD,
    PADDING,
    index_keys,
)

N_FINGERPRINTS = 2**62


def character_ids(tokens: tf.Tensor, config: ElmoConfig) -> tf.Tensor:
    """Character ids of the tokens of sentences, 0 at padding.

    The empty strings at the end of a sentence are padding. In a RaggedTensor, which
    has none, they are words without characters, as they are before other tokens.

    Args:
        tokens: string tensor `(..., time)`, padded with `""`; a RaggedTensor `(batch,
            time)`; or lists or an array of `str`. A single string is one word.
        config: gives the length of a row, where longer words are cut, whether words
            are normalised, and the dictionary.

    Returns:
        int32 `(..., time, config.ids_per_token)`.

    Example:

    >>> character_ids([["a", ""]], ElmoConfig.preset("tiny"))[0, :, :4].numpy()
    array([[259,  98, 260, 261],
           [  0,   0,   0,   0]], dtype=int32)
    """
    tokens = string_tensor(tokens)
    if not isinstance(tokens, tf.RaggedTensor):
        tokens = tf.convert_to_tensor(tokens, tf.string)
        if tokens.shape.rank == 0:
            return characters_of_words(tokens, config)
    tokens, mask = dense_tokens(tokens)
    return tf.where(mask[..., None], characters_of_words(tokens, config), 0)  # pyright: ignore[reportArgumentType]


def characters_of_words(words: tf.Tensor, config: ElmoConfig) -> tf.Tensor:
    """Character ids of every word, of any bytes: int32 `(..., config.ids_per_token)`.

    A word becomes begin of word, its UTF-8 bytes, end of word, padding, each the
    published training id plus one, so that no id is 0. The words `<S>` and `</S>` have
    one character, begin or end of sentence. A dictionary gives the ids of words and
    characters that ELMoForManyLangs makes.

    Reference: bilm-tf, `UnicodeCharsVocabulary`; ELMoForManyLangs, `create_one_batch`.
    """
    words = tf.convert_to_tensor(words, tf.string)
    flat = tf.reshape(words, [-1])
    if config.dictionary is None:
        ids = _byte_ids(flat, config)
    else:
        ids = _dictionary_ids(_normalize(flat, config), config)  # pyright: ignore[reportArgumentType]
    shape = tf.concat([tf.shape(words), [config.ids_per_token]], axis=0)
    return tf.reshape(ids + 1, shape)


def cut_pieces(
    ids: tf.Tensor, n_windows: Sequence[int], config: ElmoConfig
) -> tuple[tf.Tensor, ...]:
    """Ids of words in `len(n_windows)` pieces of equal size, see `CharacterCNN.call_pieces`.

    `n_windows` are the numbers of windows that are computed for a word of each piece: one
    more than its characters are enough.
    """
    width = max((width for width, _ in config.filters), default=1)
    n_characters = config.dictionary.n_characters if config.dictionary else PADDING + 1
    # The id of positions after the last character.
    ids = tf.pad(ids, [[0, 0], [0, width - 1]], constant_values=n_characters + 1)
    more = width - 1 + bool(config.word_embedding_dim)
    pieces = tf.split(ids, len(n_windows))
    return tuple(piece[:, : n + more] for piece, n in zip(pieces, n_windows))


def _byte_ids(tokens, config):
    length = config.max_characters_per_token
    begins, ends = (tokens == token for token in BOUNDARIES)
    sentence_boundary = tf.where(begins, BEGIN_OF_SENTENCE, 0)
    sentence_boundary = tf.where(ends, END_OF_SENTENCE, sentence_boundary)[:, None]
    flat = _normalize(tf.where(begins | ends, "S", tokens), config)  # one byte
    content = tf.io.decode_raw(flat, tf.uint8, fixed_length=length)
    content = tf.reshape(tf.cast(content, tf.int32), [-1, length])
    ends = _ends(flat, content, config)[:, None]
    content = tf.where(sentence_boundary > 0, sentence_boundary, content)
    # The content starts after the begin of word. The roll brings the last byte to the
    # front; that position, the end of the word and the rest of the row are overwritten.
    ids = tf.roll(content, shift=1, axis=1)
    index = tf.range(length)[None, :] - 1
    ids = tf.where(index < 0, BEGIN_OF_WORD, ids)
    ids = tf.where(index == ends, END_OF_WORD, ids)
    return tf.where(index > ends, PADDING, ids)


def _normalize(tokens, config):
    if config.unicode_normalization is None:
        return tokens
    return tensorflow_text().normalize_utf8(tokens, config.unicode_normalization)


def tensorflow_text():
    """The module tensorflow-text, or an ImportError that says how to install it."""
    # A graph with its operations loads only where it is imported.
    return import_extra("tensorflow_text", "This tokenizer or normalisation")


def _ends(tokens, content, config):
    limit = config.max_characters_per_token - 2
    lengths = tf.strings.length(tokens)
    if config.cut_at == "byte":
        return tf.minimum(lengths, limit)
    # Never cut before a continuation byte, 10xxxxxx. A character has at most three of
    # them; a longer run is not UTF-8 and is cut anywhere.
    first = max(limit - 3, 0)
    starts = tf.bitwise.bitwise_and(content[:, first : limit + 1], 0xC0) != 0x80
    indices = tf.where(starts, tf.range(first, limit + 1), -1)
    last_start = tf.reduce_max(indices, axis=1)
    cut = tf.where(last_start >= 0, last_start, limit)
    return tf.where(lengths > limit, cut, lengths)


def _dictionary_ids(tokens, config):
    """The id of the cut word, if the dictionary has words, and those of its characters.

    These are `<eow>`, the characters, `<bow>` (the code that trained the published models
    swaps the two marks), and `<pad>`. `<bos>` and `<eos>` have one character.
    """
    tables = _tables(config.dictionary)
    length = config.max_characters_per_token - 2
    if config.word_embedding_dim:
        words = tokens
        if not config.is_of_tokens:
            words = tf.strings.substr(tokens, 0, length, unit="UTF8_CHAR")
        words = tables.word_ids(words)[:, None]
        if not config.has_characters:
            return words
    points = tf.strings.unicode_decode(tokens, "UTF-8")
    characters = points.to_tensor(0, shape=(None, length))  # (tokens, length)
    ends = tf.minimum(tf.cast(points.row_lengths(), tf.int32), length)[:, None]
    last = tf.size(tables.characters) - 1
    characters = tf.gather(tables.characters, tf.minimum(characters, last))
    for boundary in DICTIONARY_BOUNDARIES:
        is_boundary = (tokens == boundary)[:, None]
        ends = tf.where(is_boundary, 1, ends)
        characters = tf.where(is_boundary, tables.marks[boundary], characters)
    index = tf.range(length + 2)[None, :] - 1
    ids = tf.pad(characters, [[0, 0], [1, 1]])
    ids = tf.where(index < 0, tables.marks["<eow>"], ids)
    ids = tf.where(index == ends, tables.marks["<bow>"], ids)
    ids = tf.where(index > ends, tables.marks["<pad>"], ids)
    return tf.concat([words, ids], axis=1) if config.word_embedding_dim else ids


class StringSearch:
    """Finds strings by their fingerprints in a sorted array, and compares them.

    >>> search = StringSearch(["a", "word"], [1, 2], unknown=0)
    >>> search(tf.constant([["word", "other", "a"]])).numpy().tolist()
    [[2, 0, 1]]
    """

    def __init__(self, strings: Iterable[str], ids: Iterable[int], unknown: int):
        self._unknown = unknown
        with tf.init_scope():  # graphs share the tensors instead of holding copies
            keys = tf.constant(list(strings), tf.string)
            fingerprints = _fingerprints(keys).numpy()
            order = np.argsort(fingerprints, kind="stable")
            self._fingerprints = tf.constant(fingerprints[order])
            self._strings = tf.gather(keys, order)
            self._ids = tf.constant(np.array([*ids], np.int32)[order])
        _, counts = np.unique(fingerprints, return_counts=True)
        self._n_equal = int(counts.max(initial=0))  # strings with one fingerprint

    def __call__(self, strings: tf.Tensor) -> tf.Tensor:
        """The ids of strings of any shape, int32."""
        flat = tf.reshape(strings, [-1])
        first = tf.searchsorted(self._fingerprints, _fingerprints(flat))
        ids = tf.fill(tf.shape(flat), self._unknown)
        for i in range(self._n_equal):  # strings are compared, not just fingerprints
            index = tf.minimum(first + i, tf.size(self._strings) - 1)
            is_equal = tf.gather(self._strings, index) == flat
            ids = tf.where(is_equal, tf.gather(self._ids, index), ids)
        return tf.reshape(ids, tf.shape(strings))


def _fingerprints(strings):
    return tf.strings.to_hash_bucket_fast(strings, N_FINGERPRINTS)


class _Tables(NamedTuple):
    marks: dict[str, int]  # mark → id of its character
    characters: tf.Tensor  # the id of each code point; the last one is for all others
    word_ids: StringSearch  # words → their ids, that of `<oov>` for other words


@functools.lru_cache(maxsize=8)
def _tables(dictionary: TokenDictionary) -> _Tables:
    keys = index_keys(dictionary.characters)
    points = {ord(key): i for key, i in keys.items() if len(key) == 1}
    characters = np.full(max(points, default=0) + 2, keys.get("<oov>", 0), np.int32)
    characters[list(points)] = list(points.values())
    words = index_keys(dictionary.words)
    with tf.init_scope():  # graphs share the tensors instead of holding copies
        return _Tables(
            marks={key: i for key, i in keys.items() if len(key) > 1},
            characters=tf.constant(characters),
            word_ids=StringSearch(
                words, words.values(), words.get(dictionary.unknown, 0)
            ),
        )
