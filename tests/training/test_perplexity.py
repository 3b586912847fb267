"""Full-softmax perplexity, against plain NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel
from elmo_keras.text.corpus import Corpus
from elmo_keras.training import carried_state
from elmo_keras.training.carried_state import carried_log_probabilities
from elmo_keras.training.perplexity import (
    HeldOutPerplexity,
    Perplexity,
    held_out_sums,
    log_probabilities,
    perplexity,
)
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


def sums_with_state_carried_over(bilm, sentences):
    """Log probabilities by the oracle: (2,)."""
    sums, states = np.zeros(2), [None, None]
    for sentence in sentences:
        tokens = ["<S>", *sentence, "</S>"]
        for direction, reading in enumerate((tokens, tokens[::-1])):
            losses, states[direction] = expected_losses(
                bilm,
                VOCABULARY,
                reading,
                direction=direction,
                state=states[direction],
            )
            sums[direction] -= losses.sum()
    return sums


@pytest.mark.parametrize("max_tokens", [4, 4096])
def test_the_state_can_be_carried_over_as_by_the_oracle(bilm, max_tokens, monkeypatch):
    monkeypatch.setattr(carried_state, "MAX_TOKENS", max_tokens)
    expected = sums_with_state_carried_over(bilm, SENTENCES)
    actual = carried_log_probabilities(bilm, CORPUS, VOCABULARY)
    np.testing.assert_allclose(actual, expected, atol=1e-4)
    assert (
        np.abs(actual - log_probabilities(bilm, CORPUS, VOCABULARY).sum(0)).min() > 0.01
    )
    result = perplexity(bilm, CORPUS, VOCABULARY, carried=True)
    assert result == Perplexity.of(actual, CORPUS.n_predictions)


def test_a_long_text_is_read_in_rows(bilm, monkeypatch):
    monkeypatch.setattr(carried_state, "SENTENCES_A_ROW", 2)
    # 17 predictions in two rows: the second starts with the first sentence from 8 on.
    rows = SENTENCES[:2], SENTENCES[2:]
    expected = sum(sums_with_state_carried_over(bilm, row) for row in rows)
    actual = carried_log_probabilities(bilm, CORPUS, VOCABULARY)
    np.testing.assert_allclose(actual, expected, atol=1e-4)


@pytest.mark.parametrize("n_workers", [2, 3])
def test_shares_of_workers_sum_to_the_text(bilm, n_workers, monkeypatch):
    monkeypatch.setattr(carried_state, "SENTENCES_A_ROW", 2)
    shares = [
        held_out_sums(bilm, CORPUS, VOCABULARY, worker=w, n_workers=n_workers)
        for w in range(n_workers)
    ]
    whole = held_out_sums(bilm, CORPUS, VOCABULARY)
    np.testing.assert_allclose(sum(shares), whole, atol=1e-4)
    both = HeldOutPerplexity.of(whole, CORPUS.n_predictions)
    assert both.zero == perplexity(bilm, CORPUS, VOCABULARY)
    assert both.carried == perplexity(bilm, CORPUS, VOCABULARY, carried=True)


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
