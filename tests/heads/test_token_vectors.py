"""The token vectors of task models."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.heads.token_vectors import (
    TokenVectors,
    frequent_endings,
    frequent_words,
)
from tests.support.models import randomize


def test_unknown_words_share_a_vector_and_case_does_not_matter():
    vectors = TokenVectors(["der", "und"], word_dim=5, character_dim=0)
    x, at_output, mask = vectors(tf.constant([["Der", "der", "neu", "alt"]]))
    np.testing.assert_array_equal(x[0, 0], x[0, 1])
    np.testing.assert_array_equal(x[0, 2], x[0, 3])
    assert np.any(x[0, 0] != x[0, 2]) and at_output is None and np.all(mask)


def test_frequent_words_are_counted_in_lower_case():
    sentences = [["Der", "der"], ["und", "neu", "und", "und"]]
    assert frequent_words(sentences) == ["und", "der"]
    assert frequent_words(sentences, 3) == ["und"]


def test_the_vectors_of_a_words_endings_are_added():
    sentences = [["먹는", "Ab", "나는", "나는"], ["ab", "b"]]
    assert frequent_endings(sentences, longest=2) == ["b", "는"]
    names = ["는", "나는", "다"]
    vectors = TokenVectors(word_dim=5, character_dim=0, endings=names)
    x = vectors(tf.constant([["나는", "큰 간다", ""], ["다", "", ""]]))[0].numpy()
    other, topic, we, declarative = vectors.ending_vectors.embeddings.numpy()
    assert vectors.input_dim == 5
    np.testing.assert_allclose(x[0, 0], topic + we, atol=1e-6)
    np.testing.assert_allclose(x[0, 1], declarative + other, atol=1e-6)
    np.testing.assert_allclose(x[1, 0], 2 * declarative, atol=1e-6)
    assert TokenVectors.from_config(vectors.get_config()).endings == (*names,)


@pytest.mark.parametrize("place", ["input", "output", "both"])
def test_each_place_of_elmo_has_its_own_mix(config, place, eagerly):
    n = 2 if place == "both" else 1
    elmo = Elmo(config, num_representations=n)
    vectors = TokenVectors([], 5, 4, elmo=elmo, elmo_at=place)
    vectors.build()
    randomize(vectors)
    at_input, at_output, _ = vectors(tf.constant([["Der", "und"]]))
    dim = 2 * config.projection_dim
    assert at_input.shape[-1] == vectors.input_dim == 4 + dim * (place != "output")
    assert (at_output is None) == (place == "input")
    assert list(vectors.mixes) == (["input", "output"] if n == 2 else [place])
    if n == 2:
        assert np.any(at_input[..., 4:] != at_output)


@pytest.mark.parametrize("trainable", [True, False])
def test_given_vectors_are_those_of_their_words_and_others_are_as_large(trainable):
    words = ["der", "und", "neu"]
    vectors = TokenVectors(words, 5, character_dim=2, trainable_words=trainable)
    start = np.arange(10, dtype=np.float32).reshape(2, 5)
    vectors.assign_word_vectors(["neu", "der"], start)
    x = vectors(tf.constant([["Neu", "Der", "und", "alt"]]))[0].numpy()[0, :, :5]
    np.testing.assert_array_equal(x[:2], start)
    size = np.sqrt(np.mean(np.square(start)))
    assert np.all(np.ptp(x[2:], axis=1) > size / 5)
    assert np.all(np.abs(x[2:]) < 2 * size)
    vectors.assign_word_vectors(["neu", "der"], start)
    again = vectors(tf.constant([["und"]]))[0]
    np.testing.assert_array_equal(again[0, :, :5], x[2:3])
    trained = {id(variable) for variable in vectors.trainable_variables}
    assert (id(vectors.word_vectors.embeddings) in trained) == trainable
    assert len(trained) > trainable  # the characters
    assert TokenVectors.from_config(vectors.get_config()).trainable_words == trainable


def test_given_vectors_that_do_not_fit_are_refused():
    vectors = TokenVectors(["der", "und"], word_dim=5, character_dim=0)
    for words, shape, message in (
        (["der", "Und"], (2, 5), "lower case. Received: 'Und'"),
        (["der", "und"], (2, 4), r"shape \(2, 5\).*Received: \(2, 4\)"),
        (["der"], (2, 5), r"shape \(1, 5\).*Received: \(2, 5\)"),
    ):
        with pytest.raises(ValueError, match=message):
            vectors.assign_word_vectors(words, np.ones(shape))


def test_arguments_that_do_not_fit_are_refused(config):
    for arguments, message in (
        ({"character_dim": 5}, "even"),
        ({"elmo_at": "top"}, "one of"),
        ({"elmo": Elmo(config), "elmo_at": "both"}, "2 representations"),
        ({"character_dim": 0}, "none of them"),
    ):
        with pytest.raises(ValueError, match=message):
            TokenVectors(**arguments)
