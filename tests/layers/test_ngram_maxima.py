"""Words in training, against the same words without training."""

import types

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import character_ids
from elmo_keras.config import ElmoConfig
from elmo_keras.layers import CharacterCNN, ngram_maxima
from elmo_keras.text.characters import cut_pieces
from tests.support.models import randomize, with_gradients

FILTERS = ((1, 3), (2, 4), (4, 5))
CHARACTERS = 9
CONFIG = ElmoConfig(2, 2, FILTERS, max_characters_per_token=CHARACTERS)
# The longest fill all places, or are cut, so that wide windows end early.
WORDS = ["a", "", "seventy", "sevente", "sixtee", "a", "aa", "abababababab", "sixty"]


def vectors_and_gradients(cnn, ids, training):
    return outputs_and_gradients(cnn, lambda: cnn(ids, training=training))


def outputs_and_gradients(cnn, function):
    return with_gradients(function, [w.value for w in cnn.trainable_weights])


@pytest.fixture(params=[1, 4, 256], ids=lambda n: f"pieces of {n}")
def words_at_once(request, monkeypatch):
    monkeypatch.setattr(ngram_maxima, "WORDS_AT_ONCE", request.param)


def cnn_and_ids(kind):
    ids = tf.pad(character_ids([WORDS], CONFIG)[0], [[0, 1], [0, 0]])
    if kind == "dictionary":
        dictionary = {"n_characters": 262, "n_words": 4, "word_dim": 3}
        cnn = CharacterCNN(FILTERS, 6, embedding_dim=5, **dictionary)
        ids = tf.concat([tf.range(len(ids))[:, None] % 5, ids], axis=1)
    else:
        cnn = CharacterCNN(FILTERS, 6, embedding_dim=5, activation=kind)
    cnn.build((None, ids.shape[1]))
    return randomize(cnn), ids


@pytest.mark.parametrize("kind", ["relu", "tanh", "dictionary"])
def test_vectors_and_gradients_do_not_depend_on_training(words_at_once, kind):
    cnn, ids = cnn_and_ids(kind)
    expected = vectors_and_gradients(cnn, ids, training=False)
    actual = vectors_and_gradients(cnn, ids, training=True)
    assert len(actual) == 1 + len(cnn.weights)
    assert_close(actual, expected)


@pytest.mark.parametrize("kind", ["relu", "dictionary"])
def test_pieces_of_fixed_shapes_have_the_vectors_and_gradients_of_their_words(kind):
    cnn, ids = cnn_and_ids(kind)
    order = [7, 2, 3, 4, 8, 0, 1, 5, 6, 9]  # long words, then those of up to 4 ids
    config = CONFIG
    if kind == "dictionary":
        sizes = types.SimpleNamespace(n_characters=cnn.n_characters)
        options = {"dictionary": sizes, "word_embedding_dim": cnn.word_dim}
        config = types.SimpleNamespace(filters=FILTERS, **options)
    pieces = cut_pieces(tf.gather(ids, order), [CHARACTERS, 5], config)
    assert pieces[1].shape == (5, 5 + 3 + (kind == "dictionary"))
    call = lambda: tf.gather(cnn.call_pieces(pieces), np.argsort(order))
    actual = outputs_and_gradients(cnn, call)
    assert_close(actual, vectors_and_gradients(cnn, ids, training=False))


def assert_close(actual, expected):
    for x, y in zip(actual, expected, strict=True):
        assert np.any(y != 0)
        np.testing.assert_allclose(x, y, atol=1e-5)  # sums in another order


def test_no_words_have_no_vectors(words_at_once):
    cnn = CharacterCNN(FILTERS, 6)
    nothing = tf.zeros((0, CHARACTERS), "int32")
    vectors, *gradients = vectors_and_gradients(cnn, nothing, training=True)
    assert vectors.shape == (0, 6)
    assert not any(np.any(gradient != 0) for gradient in gradients)


def test_windows_that_are_equally_high_share_the_gradient():
    """Both places of a character that occurs twice; here they have one vector."""
    words, ends = tf.constant([[1, 2, 1, 0, 0]]), tf.constant([3])
    kernel = tf.constant([[[1.0, 0.0], [0.0, 1.0]]])  # (1, dim, filters)
    table = tf.constant([[0.0, -1.0], [2.0, 0.0], [1.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch([table, kernel])
        maxima = ngram_maxima.ngram_maxima(words, ends, table, kernels=[kernel])
    table_gradient, kernel_gradient = tape.gradient(maxima, [table, kernel])
    assert maxima.numpy().tolist() == [[2.0, 3.0]]
    assert table_gradient.numpy().tolist() == [[0, 0], [1, 0], [0, 1]]
    assert kernel_gradient[0].numpy().tolist() == [[2, 1], [0, 3]]
