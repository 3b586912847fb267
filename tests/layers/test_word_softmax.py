"""The full softmax in pieces of the vocabulary."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.layers import WordSoftmax, word_softmax
from tests.support.models import built

TOKENS, DIM, SIZE = 3, 5, 7


def losses_of_all_logits(softmax, inputs, targets):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, softmax(inputs))


@pytest.fixture
def softmax():
    return built(WordSoftmax(SIZE), DIM)


@pytest.fixture
def case():
    rng = np.random.default_rng(1)
    inputs = tf.constant(rng.normal(size=(TOKENS, DIM)), tf.float32)
    return inputs, tf.constant([0, SIZE - 1, 4])


@pytest.mark.parametrize("words", [0, 2, 7])
@pytest.mark.parametrize("wrapped", [lambda f: f, tf.function])
def test_pieces_of_any_size_give_the_whole(softmax, case, monkeypatch, words, wrapped):
    monkeypatch.setattr(word_softmax, "LOGITS_AT_ONCE", words * TOKENS)
    actual = wrapped(softmax.log_probabilities_of)(*case)
    assert actual.dtype == tf.float32
    # Sums of 7 exponentials in another order.
    np.testing.assert_allclose(actual, -losses_of_all_logits(softmax, *case), atol=1e-6)


def test_very_unlikely_words_have_finite_probabilities(softmax, case, monkeypatch):
    monkeypatch.setattr(word_softmax, "LOGITS_AT_ONCE", 2 * TOKENS)
    softmax.bias.assign([1e4, 0, 0, 0, 0, 0, -1e4])
    actual = softmax.log_probabilities_of(*case).numpy()
    expected = -losses_of_all_logits(softmax, *case).numpy()
    # float32 near 20,000 is accurate to 0.002.
    assert actual[0] == 0.0 and actual[1] == pytest.approx(expected[1], abs=0.01)
