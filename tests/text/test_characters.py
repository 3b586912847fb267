"""Tokens to the ids of characters or of a dictionary, against plain mappers in Python."""

import dataclasses
import unicodedata

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_keras.text import characters
from elmo_keras.text.characters import character_ids, characters_of_words
from elmo_keras.text.dictionary import TokenDictionary
from elmo_keras.text.tokens import tokenize
from elmo_keras.text.word_ids import boundary_tokens, is_cut
from tests.support import reference
from tests.support.dictionaries import CHARACTERS, DICTIONARY, WORDS, dictionary_config
from tests.support.sizes import CONFIG

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


OF_DICTIONARY = dictionary_config()
TEXTS = st.lists(
    st.one_of(st.text(), st.text("ab한국어🙂", max_size=12), st.sampled_from(WORDS)),
    max_size=6,
)


def plain_ids(token, length, with_words):
    """ELMoForManyLangs' row of a token, plus one."""
    token = token if token in ("<bos>", "<eos>") else token[: length - 2]
    characters = [token] if token in ("<bos>", "<eos>") else list(token)
    row = ["<eow>", *characters, "<bow>"]
    row += ["<pad>"] * (length - len(row))
    ids = [CHARACTERS.index(c if c in CHARACTERS else "<oov>") for c in row]
    if with_words:
        ids.insert(0, WORDS.index(token if token in WORDS and token else "<oov>"))
    return [i + 1 for i in ids]


@settings(deadline=None, max_examples=100)
@given(TEXTS, st.sampled_from([7, 9, 50]), st.booleans())
def test_ids_of_any_text_are_those_of_the_plain_mapper(tokens, length, with_words):
    config = dictionary_config(with_words, max_characters_per_token=length)
    strings = [token.encode("utf-8", "replace") for token in tokens]
    actual = characters_of_words(tf.constant(strings, tf.string), config)
    assert actual.shape == (len(tokens), length + with_words)
    assert actual.dtype == tf.int32
    tokens = [string.decode() for string in strings]
    expected = [plain_ids(token, length, with_words) for token in tokens]
    np.testing.assert_array_equal(actual, np.reshape(expected, actual.shape))


@pytest.mark.parametrize("token", [b"\xff", b"a\x80b", b"\xed\xa0\x80", b"\xff" * 99])
def test_bytes_that_are_not_utf_8_are_unknown_characters(token):
    ids = characters_of_words(tf.constant([token]), OF_DICTIONARY)[0].numpy()
    assert ids[0] == WORDS.index("<oov>") + 1
    assert CHARACTERS.index("<oov>") + 1 in ids[1:]
    assert ids.min() > 0


def with_words(n):
    words = ["<oov>", *(f"word{i}" for i in range(n))]
    dictionary = TokenDictionary(DICTIONARY.characters, "\n".join(words))
    return dataclasses.replace(OF_DICTIONARY, dictionary=dictionary), words


def test_words_with_the_same_fingerprint_are_told_apart(monkeypatch):
    monkeypatch.setattr(characters, "N_FINGERPRINTS", 3)
    config, words = with_words(50)
    ids = characters_of_words([*words, "word50", "wor", ""], config)[:, 0]
    np.testing.assert_array_equal(ids, [*range(1, 52), 1, 1, 1])


def test_an_id_without_a_key_is_never_used():
    lines = ["", *CHARACTERS[1:], "", ""]
    dictionary = TokenDictionary("\n".join(lines), "\n<oov>\n\n")
    assert (dictionary.n_characters, dictionary.n_words) == (len(lines), 4)
    config = dataclasses.replace(OF_DICTIONARY, dictionary=dictionary)
    ids = characters_of_words([CHARACTERS[0], "", "x"], config)
    np.testing.assert_array_equal(ids[:, 0], 2)
    assert ids[0, 2] == lines.index("<oov>") + 1


def test_words_are_cut_after_whole_characters_and_sentences_have_the_models_boundaries():
    config = dictionary_config(max_characters_per_token=7)
    tokens = ["한" * 5, "한" * 6, "a" * 5, "a" * 6]
    assert [is_cut(token, config) for token in tokens] == [False, True] * 2
    assert boundary_tokens(OF_DICTIONARY) == ("<bos>", "<eos>")
    assert boundary_tokens(CONFIG) == ("<S>", "</S>")
