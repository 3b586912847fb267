"""The CRF in TensorFlow against brute force over all tag sequences."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.heads.tagger.crf import (
    LinearChainCRF,
    best_tags,
    log_likelihood,
    log_marginals,
    log_partition,
)
from elmo_keras.heads.tagger.entities import constraints
from tests.support.crf import (
    LENGTHS,
    MASK,
    N_TAGS,
    TAGS,
    by_hand,
    random_crf,
    random_scores,
)


def test_the_partition_and_probabilities_are_sums_over_all_sequences():
    crf, scores = random_crf(), random_scores(5, 5)
    totals = [by_hand(crf, x, n)[1] for x, n in zip(scores, LENGTHS)]
    expected = [*map(np.logaddexp.reduce, totals)]
    # Sums of 243 terms in float64 in another order.
    np.testing.assert_allclose(log_partition(crf, scores, MASK), expected, atol=1e-12)
    sequences, totals = by_hand(crf, scores[0], 4)
    mask = np.ones(sequences.shape, bool)
    repeated = np.repeat(scores[:1, :4], len(sequences), axis=0)
    actual = log_likelihood(crf, repeated, sequences, mask).numpy()
    np.testing.assert_allclose(actual, totals - np.logaddexp.reduce(totals), atol=1e-12)
    assert np.exp(actual).sum() == pytest.approx(1, abs=1e-12)


def test_values_at_padding_change_nothing():
    crf, scores = random_crf(), random_scores(5, 5)
    tags = np.where(MASK, np.random.randint(N_TAGS, size=MASK.shape), -1)
    expected = log_likelihood(crf, scores, tags, MASK), best_tags(crf, scores, MASK)
    other = np.where(MASK[..., None], scores, 1e3)
    actual = log_likelihood(crf, other, tags, MASK), best_tags(crf, other, MASK)
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_array_equal(actual[1], expected[1])
    pads = [(0, 0), (0, 2), (0, 0)]
    wider = [np.pad(x, pads[: x.ndim]) for x in (scores, tags, MASK)]
    np.testing.assert_array_equal(log_likelihood(crf, *wider), expected[0])


def test_the_layer_computes_in_single_precision_at_least_and_checks_constraints():
    crf = LinearChainCRF(N_TAGS, constraints(TAGS), dtype="mixed_bfloat16")
    crf.build()
    scores = tf.cast(random_scores(5, 5), "bfloat16")
    tags = np.random.randint(N_TAGS, size=MASK.shape)
    likelihood = crf.log_likelihood(scores, tags, MASK)
    assert likelihood.dtype == tf.float32 and np.isfinite(likelihood).all()
    assert "I-X" not in [TAGS[i] for i in crf(scores, mask=MASK)[:, 0] if i >= 0]
    for table in (np.zeros((4, 3)).tolist(), [[True] * 3] * 3):
        with pytest.raises(ValueError, match=r"shape \(4, 3\) and a tag in each row"):
            LinearChainCRF(N_TAGS, allowed=table)


def test_a_sentence_of_thousands_of_tokens_keeps_its_precision():
    """The same tokens over and over: in the middle, nothing changes any more."""
    crf = random_crf("float32", scale=1.0).only(constraints(TAGS))
    scores = tf.constant(np.tile([[[200.0, 199.0, 1.0]]], (1, 5000, 1)), tf.float32)
    marginals = tf.function(log_marginals, autograph=False)  # 5,000 steps
    log_p, _ = marginals(crf, scores, tf.ones((1, 5000), bool))
    short, _ = log_marginals(crf, scores[:, :101], tf.ones((1, 101), bool))
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(log_p[0, 2500], short[0, 50], atol=1e-4)
