"""The cache of word vectors."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, ElmoConfig
from elmo_keras.layers import token_cache
from elmo_keras.layers.token_cache import TokenCache

SENTENCES = [["a", "known", "word", "and", "others"], ["known"], ["", "한국어"]]
WORDS = ["<S>", "</S>", "known", "word", "한국어", "x" * 60]


def test_the_cache_does_not_change_the_vectors(model_directory):
    plain, cached = (
        Elmo.from_pretrained(model_directory, cached_words=words)
        for words in ((), WORDS)
    )
    np.testing.assert_allclose(cached(SENTENCES), plain(SENTENCES), atol=1e-6)
    ids = tf.ones((2, 3, cached.config.max_characters_per_token), "int32")
    np.testing.assert_allclose(cached(ids), plain(ids), atol=1e-6)


def add_one_to_the_cache(elmo):
    vectors = elmo.bilm.token_cache.vectors
    vectors.assign(vectors + 1.0)


def test_known_words_are_looked_up_and_others_computed(model_directory):
    elmo = Elmo.from_pretrained(model_directory, scheme=0, cached_words=WORDS)
    before = elmo(SENTENCES).numpy()
    add_one_to_the_cache(elmo)
    changed = elmo(SENTENCES).numpy() - before
    known = np.zeros((3, 5, 1))
    known[0, 1], known[0, 2], known[1, 0], known[2, 1] = 1, 1, 1, 1
    np.testing.assert_allclose(changed, known + np.zeros_like(changed), atol=1e-6)
    elmo.trainable_bilm = True  # then every word is computed
    np.testing.assert_allclose(elmo(SENTENCES), before, atol=1e-6)


def test_words_with_the_same_key_get_their_own_vectors(model_directory, monkeypatch):
    plain = Elmo.from_pretrained(model_directory)(SENTENCES)
    monkeypatch.setattr(token_cache, "_FACTORS", np.zeros(256, "int64"))
    cached = Elmo.from_pretrained(model_directory, cached_words=WORDS)(SENTENCES)
    np.testing.assert_allclose(cached, plain, atol=1e-6)


def test_an_empty_cache_knows_no_word():
    cache = TokenCache(3, 2)
    cache.build((None, 4))
    _, known = cache(tf.constant([[1, 2, 3, 4], [0, 0, 0, 0]]))
    assert not np.any(known)


def test_a_saved_model_keeps_its_cache(model_directory, tmp_path):
    elmo = Elmo.from_pretrained(model_directory, scheme=0, cached_words=WORDS)
    add_one_to_the_cache(elmo)
    inputs = keras.Input((None,), dtype="string")
    keras.Model(inputs, elmo(inputs)).save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    tokens = tf.constant([["known", "other"]])
    np.testing.assert_array_equal(loaded(tokens), elmo(tokens))


def test_repeated_words_are_refused():
    bilm = Elmo(ElmoConfig.preset("test"), n_cached_words=2).bilm
    message = "2 distinct words.*Received: 2 words, 1 distinct"
    with pytest.raises(ValueError, match=message):
        bilm.cache_words(["a", "a"])
