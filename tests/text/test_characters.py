"""Tokens to character ids, against a plain mapper in Python."""

import dataclasses
import unicodedata

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_keras import ElmoConfig
from elmo_keras.text.characters import character_ids, characters_of_words
from elmo_keras.text.tokens import tokenize
from elmo_keras.text.word_ids import is_cut
from tests.support import reference

CONFIG = ElmoConfig.preset("test")
UNICODE = st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
LONG = st.text("aé한😀\u0301", max_size=12).map(str.encode)
ODD = st.sampled_from([b"<S>", b"</S>", b"<s>", b"", b"\0", b"\xff" * 9])
TOKENS = st.lists(st.one_of(UNICODE, LONG, ODD, st.binary(max_size=12)), max_size=6)
LENGTHS = st.sampled_from([3, 4, 9, 50])


def ids_of(tokens, length, **changes):
    changes |= {"filters": ((1, 2),), "max_characters_per_token": length}
    config = dataclasses.replace(CONFIG, **changes)
    return characters_of_words(tf.constant(tokens, tf.string), config)


@settings(deadline=None, max_examples=150)
@given(TOKENS, LENGTHS, st.sampled_from(["byte", "character"]))
def test_ids_of_any_bytes_are_those_of_the_plain_mapper(tokens, length, cut_at):
    actual = ids_of(tokens, length, cut_at=cut_at)
    assert actual.shape == (len(tokens), length) and actual.dtype == tf.int32
    expected = [reference.character_ids(t, length, cut_at) for t in tokens]
    np.testing.assert_array_equal(actual, np.reshape(expected, (-1, length)))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text(max_size=12), max_size=5))
def test_nfc_equals_that_of_unicodedata(tokens):
    ids = ids_of(tokens, 50, unicode_normalization="NFC")
    tokens = [unicodedata.normalize("NFC", token) for token in tokens]
    expected = [reference.character_ids(token, 50) for token in tokens]
    np.testing.assert_array_equal(ids, np.reshape(expected, (-1, 50)))


SHAPES = [(0,), (2, 0), (2, 1, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_empty_strings_after_a_sentence_have_the_ids_of_padding(shape):
    graph = tf.function(lambda x: character_ids(x, CONFIG))
    np.testing.assert_array_equal(graph(tf.fill(shape, "")), np.zeros((*shape, 9)))
    ab = np.broadcast_to(reference.character_ids("ab", 9), (*shape, 9))
    np.testing.assert_array_equal(graph(tf.fill(shape, "ab")), ab)
    row = ["", "a", "", "b", "", ""]
    expected = np.array([reference.character_ids(t, 9) for t in row])
    expected[4:] = 0
    for tokens in (row, [row, row], np.array([row]), tf.constant([[row]])):
        ids = character_ids(tokens, CONFIG)
        np.testing.assert_array_equal(ids, np.broadcast_to(expected, ids.shape))


def test_all_tokens_of_a_ragged_tensor_have_the_ids_of_words():
    tokens = tf.ragged.constant([["a", ""], [], [""]])
    words = characters_of_words(["a", ""], CONFIG)
    ids = character_ids(tokens, CONFIG)
    np.testing.assert_array_equal(ids[0], words)
    assert not np.any(ids[1]) and not np.any(ids[2, 1])
    np.testing.assert_array_equal(ids[2, 0], words[1])
    lists = [["b"], ["c", "d"]]
    ragged = character_ids(tf.ragged.constant(lists), CONFIG)
    np.testing.assert_array_equal(character_ids(lists, CONFIG), ragged)


def test_words_longer_than_the_row_are_cut():
    words = ["1234567", "12345678", "", "가나다"]
    assert [is_cut(word, CONFIG) for word in words] == [False, True] * 2


def test_tokenize_splits_on_white_space_or_takes_a_tensorflow_text_tokenizer():
    ragged = tokenize(tf.constant(["a  b\tc", "", " d\u00a0e "]))
    assert ragged.to_list() == [[b"a", b"b", b"c"], [], ["d\u00a0e".encode()]]
    text = pytest.importorskip("tensorflow_text")
    ragged = tokenize(["Don't stop!"], text.UnicodeScriptTokenizer())
    assert ragged.to_list() == [[b"Don", b"'", b"t", b"stop", b"!"]]
