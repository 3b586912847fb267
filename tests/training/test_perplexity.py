"""Full-softmax perplexities for all ways to read a text, against plain NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel
from elmo_keras.text.corpus import Corpus
from elmo_keras.training import perplexity as module
from elmo_keras.training.perplexity import (
    HeldOutPerplexity,
    held_out_perplexity,
    held_out_sums,
    log_probabilities,
    perplexity,
)
from tests.support.dictionaries import dictionary_config
from tests.support.models import randomize
from tests.support.oracle_losses import expected_losses
from tests.support.training_runs import CORPUS, SENTENCES, VOCABULARY


def carried(bilm, rows, start=(None, None)):
    """Log probabilities by the oracle, the state carried over in each row: (2,)."""
    sums = np.zeros(2)
    for row in rows:
        for direction, state in enumerate(start):
            for sentence in row:
                losses, state = expected_losses(
                    bilm, VOCABULARY, sentence, direction=direction, state=state
                )
                sums[direction] -= losses.sum()
    return sums


def alone(bilm, start=(None, None)):
    """Log probabilities by the oracle, each sentence from the same state: (2,)."""
    return carried(bilm, [[sentence] for sentence in SENTENCES], start)


def test_log_probabilities_are_those_of_the_oracle(bilm):
    actual = log_probabilities(bilm, CORPUS, VOCABULARY)
    for row, sentence in zip(actual, SENTENCES, strict=True):
        assert row == pytest.approx(carried(bilm, [[sentence]]), abs=1e-4)


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
    for function in (perplexity, held_out_perplexity):
        with pytest.raises(ValueError, match="at least one sentence"):
            function(bilm, Corpus.of([]), VOCABULARY)


def test_both_sums_are_those_of_the_oracle(bilm):
    expected = [alone(bilm), carried(bilm, [SENTENCES])]
    assert np.abs(np.subtract(*expected)).min() > 0.01
    actual = held_out_sums(bilm, CORPUS, VOCABULARY)
    np.testing.assert_allclose(actual, expected, atol=1e-4)
    zero = log_probabilities(bilm, CORPUS, VOCABULARY).sum(axis=0)
    np.testing.assert_allclose(actual[0], zero, rtol=1e-6)


@pytest.mark.parametrize("max_tokens", [4, pytest.param(2048, marks=pytest.mark.slow)])
def test_a_long_text_is_read_in_rows(bilm, max_tokens, monkeypatch):
    monkeypatch.setattr(module, "MAX_TOKENS", max_tokens)
    monkeypatch.setattr(module, "SENTENCES_A_ROW", 2)
    # 17 predictions in two rows: the second starts with the first sentence from 8 on.
    rows = SENTENCES[:2], SENTENCES[2:]
    actual = held_out_sums(bilm, CORPUS, VOCABULARY)
    np.testing.assert_allclose(actual[1], carried(bilm, rows), atol=1e-4)
    np.testing.assert_allclose(actual[0], alone(bilm), atol=1e-4)


@pytest.mark.parametrize("n_workers", [2, 3])
def test_shares_of_workers_sum_to_the_text(bilm, n_workers, monkeypatch):
    monkeypatch.setattr(module, "SENTENCES_A_ROW", 2)
    shares = [
        held_out_sums(bilm, CORPUS, VOCABULARY, worker=w, n_workers=n_workers)
        for w in range(n_workers)
    ]
    whole = held_out_sums(bilm, CORPUS, VOCABULARY)
    np.testing.assert_allclose(sum(shares), whole, atol=1e-4)


def test_both_perplexities_are_per_predicted_token(bilm):
    found = held_out_perplexity(bilm, CORPUS, VOCABULARY)
    sums = held_out_sums(bilm, CORPUS, VOCABULARY)
    assert found == HeldOutPerplexity.of(sums, CORPUS.n_predictions)
    assert found.carried.forward == pytest.approx(np.exp(-sums[1, 0] / 17))
    zero = perplexity(bilm, CORPUS, VOCABULARY)
    assert found.zero == pytest.approx(zero, rel=1e-6)


@pytest.mark.slow
def test_a_start_state_is_a_third_way_to_read(bilm):
    started = BidirectionalLanguageModel(
        bilm.config, len(VOCABULARY), has_start_state=True
    )
    started.build()
    randomize(started)
    for weight, value in zip(
        started.trainable_weights, bilm.get_weights(), strict=True
    ):
        weight.assign(value)
    found = held_out_perplexity(started, CORPUS, VOCABULARY)
    assert found[:2] == held_out_perplexity(bilm, CORPUS, VOCABULARY)[:2]
    assert found.start == perplexity(started, CORPUS, VOCABULARY)
    start = [list(zip(*parts)) for parts in zip(*started.lstm.start_values())]
    sums = alone(bilm, start)
    np.testing.assert_allclose(found.start, np.exp(-sums / 17), rtol=1e-5)
    assert found.start.mean != pytest.approx(found.zero.mean, rel=1e-3)
    assert str(found).endswith(f"; from the start state: {found.start}")


def test_sentences_have_the_boundaries_of_a_dictionary():
    bilm = BidirectionalLanguageModel(dictionary_config(True), len(VOCABULARY))
    bilm.build()
    randomize(bilm)
    sums = held_out_sums(bilm, CORPUS, VOCABULARY)
    zero = log_probabilities(bilm, CORPUS, VOCABULARY).sum(axis=0)
    np.testing.assert_allclose(sums[0], zero, rtol=1e-5)
