"""Full-softmax perplexities for both ways to read a text, against plain NumPy."""

import numpy as np
import pytest

from elmo_keras import LanguageModel
from elmo_keras import perplexity as module
from elmo_keras.perplexity import log_probability_sums
from elmo_keras.text.corpus import Corpus
from tests.support.dictionaries import dictionary_config
from tests.support.models import random_bilm
from tests.support.oracle_losses import expected_losses
from tests.support.sizes import CONFIG
from tests.support.training_runs import CORPUS, SENTENCES, VOCABULARY

N = CORPUS.n_predictions


@pytest.fixture(scope="module")
def bilm():
    return random_bilm(CONFIG, len(VOCABULARY))


def carried(bilm, rows):
    """Log probabilities by the oracle, the state carried over in each row: (2,)."""
    sums = np.zeros(2)
    for row in rows:
        for direction in range(2):
            state = None
            for sentence in row:
                losses, state = expected_losses(
                    bilm, VOCABULARY, sentence, direction=direction, state=state
                )
                sums[direction] -= losses.sum()
    return sums


@pytest.mark.parametrize(("max_tokens", "sentences_a_row"), [(2048, 32), (4, 2)])
def test_a_text_is_read_in_rows(bilm, max_tokens, sentences_a_row, monkeypatch):
    monkeypatch.setattr(module, "MAX_TOKENS", max_tokens)
    monkeypatch.setattr(module, "SENTENCES_A_ROW", sentences_a_row)
    # 17 predictions in two rows: the second starts with the first sentence from 8 on.
    rows = {32: [SENTENCES], 2: [SENTENCES[:2], SENTENCES[2:]]}[sentences_a_row]
    expected = [carried(bilm, [[s] for s in SENTENCES]), carried(bilm, rows)]
    assert np.abs(np.subtract(*expected)).min() > 0.01
    model = LanguageModel(bilm, VOCABULARY)
    perplexity = model.perplexity(CORPUS, progress=True)
    np.testing.assert_allclose(perplexity, np.exp(-np.divide(expected, N)), rtol=1e-5)
    for way, sums in zip(perplexity, expected):
        assert way.mean == pytest.approx(np.exp(-sums.mean() / N), rel=1e-5)
    assert str(perplexity) == f"{perplexity.zero}; state carried over: {perplexity[1]}"
    assert perplexity == model.perplexity(SENTENCES)


@pytest.mark.parametrize("has_dictionary", [False, True])
def test_from_zero_it_is_that_of_the_sentences_scores(bilm, has_dictionary, eagerly):
    if has_dictionary:  # it has its own boundaries
        bilm = random_bilm(dictionary_config(True), len(VOCABULARY))
    model = LanguageModel(bilm, VOCABULARY)
    totals = sum(scores.totals for scores in model.score(SENTENCES))
    zero = model.perplexity(SENTENCES).zero
    np.testing.assert_allclose(zero, np.exp(-totals / N), rtol=1e-5)


def test_a_text_without_a_sentence_has_no_perplexity(bilm):
    with pytest.raises(ValueError, match="at least one sentence"):
        LanguageModel(bilm, VOCABULARY).perplexity(Corpus.from_sentences([]))


def test_shares_of_workers_sum_to_the_text(bilm, monkeypatch):
    monkeypatch.setattr(module, "SENTENCES_A_ROW", 2)
    text = bilm, CORPUS, VOCABULARY
    shares = [log_probability_sums(*text, worker=w, n_workers=3) for w in range(3)]
    np.testing.assert_allclose(sum(shares), log_probability_sums(*text), atol=1e-4)
