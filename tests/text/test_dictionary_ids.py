"""Tokens to the ids of a dictionary, against a plain mapper in Python."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_keras.config import ElmoConfig, TokenDictionary
from elmo_keras.text import characters
from elmo_keras.text.characters import characters_of_words
from elmo_keras.text.word_ids import boundary_tokens, is_cut
from tests.support.dictionaries import CHARACTERS, DICTIONARY, WORDS, dictionary_config

CONFIG = dictionary_config()
TOKENS = st.lists(
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
@given(TOKENS, st.sampled_from([7, 9, 50]), st.booleans())
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
    ids = characters_of_words(tf.constant([token]), CONFIG)[0].numpy()
    assert ids[0] == WORDS.index("<oov>") + 1
    assert CHARACTERS.index("<oov>") + 1 in ids[1:]
    assert ids.min() > 0


def with_words(n):
    words = ["<oov>", *(f"word{i}" for i in range(n))]
    dictionary = TokenDictionary(DICTIONARY.characters, "\n".join(words))
    return dataclasses.replace(CONFIG, dictionary=dictionary), words


def test_words_with_the_same_fingerprint_are_told_apart(monkeypatch):
    monkeypatch.setattr(characters, "N_FINGERPRINTS", 3)
    config, words = with_words(50)
    ids = characters_of_words([*words, "word50", "wor", ""], config)[:, 0]
    np.testing.assert_array_equal(ids, [*range(1, 52), 1, 1, 1])


def test_an_id_without_a_key_is_never_used():
    lines = ["", *CHARACTERS[1:], "", ""]
    dictionary = TokenDictionary("\n".join(lines), "\n<oov>\n\n")
    assert (dictionary.n_characters, dictionary.n_words) == (len(lines), 4)
    config = dataclasses.replace(CONFIG, dictionary=dictionary)
    ids = characters_of_words([CHARACTERS[0], "", "x"], config)
    np.testing.assert_array_equal(ids[:, 0], 2)
    assert ids[0, 2] == lines.index("<oov>") + 1


def test_words_are_cut_after_whole_characters_and_sentences_have_the_models_boundaries():
    config = dictionary_config(max_characters_per_token=7)
    tokens = ["한" * 5, "한" * 6, "a" * 5, "a" * 6]
    assert [is_cut(token, config) for token in tokens] == [False, True] * 2
    assert boundary_tokens(CONFIG) == ("<bos>", "<eos>")
    assert boundary_tokens(ElmoConfig.preset("test")) == ("<S>", "</S>")


@pytest.mark.parametrize(
    ("characters", "words", "message"),
    [
        ("a", "", "characters should hold .* Missing: .*<bos>"),
        (DICTIONARY.characters + "\na", "", "each key once. Twice: 'a'"),
        (DICTIONARY.characters, "a", "words should hold <oov>. Missing: <oov>"),
    ],
)
def test_a_dictionary_that_is_none_is_refused(characters, words, message):
    with pytest.raises(ValueError, match=message):
        TokenDictionary(characters, words)
