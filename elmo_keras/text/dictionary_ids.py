"""From tokens to the ids of a dictionary of Unicode characters and words."""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from elmo_keras.config import ElmoConfig, TokenDictionary
from elmo_keras.text.string_search import StringSearch
from elmo_keras.text.word_ids import DICTIONARY_BOUNDARIES, index_keys


def dictionary_ids(tokens: tf.Tensor, config: ElmoConfig) -> tf.Tensor:
    """Ids of every token and of its characters, as ELMoForManyLangs makes them.

    Returns int32 `(tokens, config.ids_per_token)`: the id of the cut word, if the
    dictionary has words, and its characters, if it has any: `<eow>`, the characters,
    `<bow>` (the code that trained the published models swaps the two marks), and
    `<pad>`. `<bos>` and `<eos>` have one character. Reference: ELMoForManyLangs,
    `create_one_batch`.
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
    others = tf.size(tables.characters) - 1
    characters = tf.gather(tables.characters, tf.minimum(characters, others))
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
