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
    log_probabilities,
    packed_segments,
    perplexity,
    validation_sums,
)
from tests.support.dictionaries import dictionary_config
from tests.support.models import randomize
from tests.support.oracle_losses import expected_losses
from tests.support.training_runs import CORPUS, SENTENCES, VOCABULARY

N = CORPUS.n_predictions


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


def test_perplexity_is_that_of_the_oracle_per_predicted_token(bilm):
    logs = log_probabilities(bilm, CORPUS, VOCABULARY)
    for row, sentence in zip(logs, SENTENCES, strict=True):
        assert row == pytest.approx(carried(bilm, [[sentence]]), abs=1e-4)
    sums, result = logs.sum(axis=0), perplexity(bilm, CORPUS, VOCABULARY)
    assert sum(len(s) + 1 for s in SENTENCES) == N
    assert result == pytest.approx(np.exp(-sums / N))
    assert result.mean == pytest.approx(np.exp(-sums.mean() / N))


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


@pytest.mark.parametrize(
    ("max_tokens", "sentences_a_row"),
    [(2048, 32), (4, 2), pytest.param(2048, 2, marks=pytest.mark.slow)],
)
def test_a_text_is_read_in_rows_from_zero_and_carried_over(
    bilm, max_tokens, sentences_a_row, monkeypatch
):
    monkeypatch.setattr(module, "MAX_TOKENS", max_tokens)
    monkeypatch.setattr(module, "SENTENCES_A_ROW", sentences_a_row)
    # 17 predictions in two rows: the second starts with the first sentence from 8 on.
    rows = {32: [SENTENCES], 2: [SENTENCES[:2], SENTENCES[2:]]}[sentences_a_row]
    expected = [alone(bilm), carried(bilm, rows)]
    assert np.abs(np.subtract(*expected)).min() > 0.01
    sums = validation_sums(bilm, CORPUS, VOCABULARY)
    np.testing.assert_allclose(sums, expected, atol=1e-4)
    zero = log_probabilities(bilm, CORPUS, VOCABULARY).sum(axis=0)
    np.testing.assert_allclose(sums[0], zero, rtol=1e-6)
    found = held_out_perplexity(bilm, CORPUS, VOCABULARY)
    assert found == HeldOutPerplexity.of(sums, N)
    assert found.carried == pytest.approx(np.exp(-sums[1] / 17))
    assert found.zero == pytest.approx(perplexity(bilm, CORPUS, VOCABULARY), rel=1e-6)


@pytest.mark.parametrize("n_workers", [2, 3])
def test_shares_of_workers_sum_to_the_text(bilm, n_workers, monkeypatch):
    monkeypatch.setattr(module, "SENTENCES_A_ROW", 2)
    shares = [
        validation_sums(bilm, CORPUS, VOCABULARY, worker=w, n_workers=n_workers)
        for w in range(n_workers)
    ]
    whole = validation_sums(bilm, CORPUS, VOCABULARY)
    np.testing.assert_allclose(sum(shares), whole, atol=1e-4)


def test_sentences_have_the_boundaries_of_a_dictionary():
    bilm = BidirectionalLanguageModel(dictionary_config(True), len(VOCABULARY))
    bilm.build()
    randomize(bilm)
    sums = validation_sums(bilm, CORPUS, VOCABULARY)
    zero = log_probabilities(bilm, CORPUS, VOCABULARY).sum(axis=0)
    np.testing.assert_allclose(sums[0], zero, rtol=1e-5)


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_segments_are_the_rows_cut_where_they_start_from_zero(share):
    rows, time = 5, 7
    from_zero = np.random.default_rng(1).random((rows, time)) < share
    packed = packed_segments(from_zero)
    assert all(array.dtype == np.int32 for array in packed.values())
    order, sizes, begin, last = packed.values()
    assert sorted(order) == list(range(rows * time)) and sizes.sum() == rows * time
    assert (np.diff(sizes) <= 0).all() and (begin == rows).sum() == from_zero.sum()
    # Unpacked again, each segment holds the places from its start to the next one's.
    segments = [[] for _ in begin]
    for step in np.split(order, np.cumsum(sizes)[:-1]):
        for segment, place in zip(segments, step):
            segment.append(int(place))
    starts = from_zero | (np.arange(time) == 0)
    expected = np.split(np.arange(rows * time), np.flatnonzero(starts)[1:])
    assert sorted(segments) == [part.tolist() for part in expected]
    for row, segment in enumerate(last):
        assert segments[segment][-1] == row * time + time - 1
    for segment, row in zip(segments, begin):
        r, place = divmod(segment[0], time)
        assert row == (rows if from_zero[r, place] else r)
