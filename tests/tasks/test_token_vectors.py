"""The token vectors of task models; attention, pooling and pairs without the padding."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.layers.pooling import masked_max, masked_mean
from elmo_keras.tasks.classifier import SelfAttentivePooling, masked_min
from elmo_keras.tasks.encoder import masked_softmax, soft_alignment
from elmo_keras.tasks.entailment import stack_pairs
from elmo_keras.tasks.token_vectors import TokenVectors, frequent_words
from tests.support.models import randomize
from tests.support.reference import softmax


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


@pytest.mark.parametrize("place", ["input", "output", "both"])
def test_each_place_of_elmo_has_its_own_mix(config, place):
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


def test_given_vectors_are_those_of_their_words_and_others_are_random_of_their_size():
    vectors = TokenVectors(["der", "und", "neu"], word_dim=5, character_dim=0)
    given = np.arange(10, dtype=np.float32).reshape(2, 5)
    vectors.assign_word_vectors(["neu", "der"], given)
    vectors(tf.constant([["und"]]))  # doesn't build it again
    x = vectors(tf.constant([["Neu", "Der", "und", "alt"]]))[0].numpy()
    np.testing.assert_array_equal(x[0, :2], given)
    size = np.sqrt(np.mean(np.square(given)))
    assert np.all(np.ptp(x[0, 2:], axis=1) > size / 5)
    assert np.all(np.abs(x[0, 2:]) < 2 * size)
    vectors.assign_word_vectors(["neu", "der"], given)
    np.testing.assert_array_equal(vectors(tf.constant([["und"]]))[0][0], x[0, 2:3])


def test_given_vectors_that_do_not_fit_are_refused():
    vectors = TokenVectors(["der", "und"], word_dim=5, character_dim=0)
    for words, shape, message in (
        (["der", "Und"], (2, 5), "lower case. Received: 'Und'"),
        (["der", "und"], (2, 4), r"shape \(2, 5\).*Received: \(2, 4\)"),
        (["der"], (2, 5), r"shape \(1, 5\).*Received: \(2, 5\)"),
    ):
        with pytest.raises(ValueError, match=message):
            vectors.assign_word_vectors(words, np.ones(shape))


@pytest.mark.parametrize("trainable", [True, False])
def test_word_vectors_are_trained_unless_they_are_frozen(trainable):
    vectors = TokenVectors(["der"], 5, 4, trainable_words=trainable)
    vectors.assign_word_vectors(["der"], np.ones((1, 5)))
    trained = {id(variable) for variable in vectors.trainable_variables}
    assert (id(vectors.word_vectors.embeddings) in trained) == trainable
    assert len(vectors.trainable_variables) > trainable  # the characters
    assert TokenVectors.from_config(vectors.get_config()).trainable_words == trainable


def test_arguments_that_do_not_fit_are_refused(config):
    for arguments, message in (
        ({"character_dim": 5}, "even"),
        ({"elmo_at": "top"}, "one of"),
        ({"elmo": Elmo(config), "elmo_at": "both"}, "2 representations"),
        ({"character_dim": 0}, "none of them"),
    ):
        with pytest.raises(ValueError, match=message):
            TokenVectors(**arguments)


LENGTHS = [3, 0, 5, 1]


def masked_batch(dim):
    """Vectors (4, 5, dim), with large numbers at padding, and their mask."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(len(LENGTHS), max(LENGTHS), dim)).astype("float32")
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    return np.where(mask[..., None], x, 1e3 * np.sign(x)), mask


@pytest.mark.parametrize(
    "pool, oracle", [(masked_mean, np.mean), (masked_max, np.max), (masked_min, np.min)]
)
def test_pooling_sees_the_real_tokens_only(pool, oracle):
    x, mask = masked_batch(2)
    expected = [oracle(r[:n], axis=0) if n else [0, 0] for r, n in zip(x, LENGTHS)]
    np.testing.assert_allclose(pool(x, mask), expected, atol=1e-6)
    # Small numbers at padding must not win either.
    np.testing.assert_allclose(
        pool(-x, mask), pool(np.where(mask[..., None], -x, 0), mask)
    )


def test_attentive_pooling_weighs_the_real_tokens_by_a_learned_score():
    x, mask = masked_batch(2)
    pooling = SelfAttentivePooling()
    pooling.build((None, None, 2))
    pooling.score.set_weights([np.array([[0.5], [-2.0]]), np.array([7.0])])
    pooled = np.array(pooling(x, mask))
    for i, n in enumerate(LENGTHS):
        weights = softmax(x[i, :n] @ [0.5, -2.0]) if n else np.zeros(0)
        np.testing.assert_allclose(pooled[i], weights @ x[i, :n], atol=1e-5)


def test_softmax_is_shared_among_the_real_places_only():
    weights = np.array(
        masked_softmax(np.array([[1.0, 2.0, 9.0], [4.0, 5.0, 6.0]]), [[1, 1, 0]] * 2)
    )
    share = 1 / (1 + np.e)
    np.testing.assert_allclose(weights, [[share, 1 - share, 0]] * 2, atol=1e-6)
    assert not np.any(masked_softmax(np.array([[1.0, 2.0]]), [[False, False]]))
    np.testing.assert_array_equal(masked_softmax(np.array([[3.0]]), [[True]]), [[1.0]])


def test_each_query_gets_the_weighted_mean_of_the_real_keys():
    keys, mask = masked_batch(3)
    queries = np.random.default_rng(1).normal(size=(4, 2, 3)).astype("float32")
    aligned = np.array(soft_alignment(queries, keys, mask))
    for i, n in enumerate(LENGTHS):
        weights = softmax(queries[i] @ keys[i, :n].T) if n else None
        expected = weights @ keys[i, :n] if n else np.zeros((2, 3))
        np.testing.assert_allclose(aligned[i], expected, atol=1e-5)


def test_the_texts_of_pairs_become_one_batch():
    inputs = {
        "premise": tf.constant([["a", "b"]]),
        "hypothesis": tf.constant([["c", "d", "e"]]),
    }
    stacked = stack_pairs(inputs)
    expected = [[b"a", b"b", b""], [b"c", b"d", b"e"]]
    assert stacked["tokens"].numpy().tolist() == expected and len(stacked) == 1
    layers = {
        "premise_layers": tf.ones((1, 3, 2, 5)),
        "hypothesis_layers": tf.ones((1, 3, 3, 5)),
    }
    layers = stack_pairs(inputs | layers)["tokens_layers"]
    sums = tf.reduce_sum(layers, axis=(1, 3)).numpy().tolist()
    assert sums == [[15, 15, 0], [15, 15, 15]]
