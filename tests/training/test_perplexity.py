"""Full-softmax perplexity, against plain NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel
from elmo_keras.text.corpus import Corpus
from elmo_keras.training.perplexity import log_probabilities, perplexity
from tests.support.oracle_losses import expected_losses
from tests.support.training_runs import CORPUS, SENTENCES, VOCABULARY


def test_log_probabilities_are_those_of_the_oracle(bilm):
    actual = log_probabilities(bilm, CORPUS, VOCABULARY)
    for row, sentence in zip(actual, SENTENCES, strict=True):
        tokens = ["<S>", *sentence, "</S>"]
        for direction, reading in enumerate((tokens, tokens[::-1])):
            losses, _ = expected_losses(bilm, VOCABULARY, reading, direction=direction)
            assert row[direction] == pytest.approx(-losses.sum(), abs=1e-4)


def test_perplexity_is_per_predicted_token(bilm):
    sums = log_probabilities(bilm, CORPUS, VOCABULARY).sum(axis=0)
    result = perplexity(bilm, CORPUS, VOCABULARY)
    n = sum(len(s) + 1 for s in SENTENCES)
    assert result.forward == pytest.approx(np.exp(-sums[0] / n))
    assert result.backward == pytest.approx(np.exp(-sums[1] / n))
    assert result.mean == pytest.approx(np.exp(-sums.mean() / n))


def test_a_model_that_knows_nothing_has_the_vocabulary_as_perplexity(bilm):
    for weight in bilm.softmax.weights:
        weight.assign(tf.zeros_like(weight.value))
    assert perplexity(bilm, CORPUS, VOCABULARY).mean == pytest.approx(len(VOCABULARY))


def test_a_softmax_of_another_size_than_the_vocabulary_is_refused(config):
    bilm = BidirectionalLanguageModel(config, 4)
    with pytest.raises(ValueError, match="over the 6 words .*size: 4"):
        perplexity(bilm, CORPUS, VOCABULARY)
    with pytest.raises(ValueError, match="at least one sentence"):
        perplexity(bilm, Corpus.of([]), VOCABULARY)
