"""The CRF, its marginals and spans, against brute force over all tag sequences."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.crf import LinearChainCRF
from elmo_keras.tasks.entities import constraints
from elmo_keras.tasks.tag_spans import (
    crf_marginals,
    span_probabilities,
    tag_probabilities,
    tag_spans,
)
from tests.support.models import randomize

RNG = np.random.default_rng(0)
N_TAGS = 3
LENGTHS = np.array([5, 1, 0, 4, 2])
MASK = np.arange(5) < LENGTHS[:, None]
TAGS = ["B-X", "I-X", "O"]


def crf_layer(dtype="float64", scale=0.5, **kwargs):
    crf = LinearChainCRF(N_TAGS, dtype=dtype, **kwargs)
    crf.build()
    return randomize(crf, scale=scale)


def scores_of(*shape):
    return RNG.normal(size=(*shape, N_TAGS)) * 2


def by_hand(crf, scores, length):
    """All tag sequences of a sentence with their scores, straight from the equation."""
    a, b, steps = (w.numpy() for w in (crf.first, crf.last, crf.transitions))
    sequences = list(itertools.product(range(N_TAGS), repeat=length))
    totals = [
        (a[y[0]] + b[y[-1]] if y else 0)
        + sum(scores[t, tag] for t, tag in enumerate(y))
        + sum(steps[pair] for pair in itertools.pairwise(y))
        for y in sequences
    ]
    return sequences, np.array(totals)


def test_the_partition_is_the_sum_over_all_sequences():
    crf, scores = crf_layer(), scores_of(5, 5)
    expected = [
        np.logaddexp.reduce(by_hand(crf, x, n)[1]) for x, n in zip(scores, LENGTHS)
    ]
    # Sums of 243 terms in float64 in another order.
    np.testing.assert_allclose(crf.log_partition(scores, MASK), expected, atol=1e-12)


def test_the_probabilities_of_all_sequences_are_right_and_sum_to_1():
    crf, scores = crf_layer(), scores_of(1, 4)
    sequences, totals = by_hand(crf, scores[0], 4)
    mask = np.ones((len(sequences), 4), bool)
    repeated = np.repeat(scores, len(sequences), axis=0)
    actual = crf.log_likelihood(repeated, np.array(sequences), mask).numpy()
    expected = totals - np.logaddexp.reduce(totals)
    np.testing.assert_allclose(actual, expected, atol=1e-12)
    assert np.exp(actual).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("constrained", [False, True])
def test_viterbi_finds_the_best_sequence(constrained):
    crf = crf_layer(allowed=constraints(TAGS) if constrained else None)
    scores = scores_of(5, 5)
    scores[:, :, 1] += 2  # by the scores alone, I-X would come first
    best = crf(scores, mask=MASK).numpy()
    for x, n, own in zip(scores, LENGTHS, best):
        sequences, totals = by_hand(crf, x, n)
        if constrained:
            totals = [s if is_bio(y) else -np.inf for y, s in zip(sequences, totals)]
        assert tuple(own[:n]) == sequences[np.argmax(totals)]
        assert (own[n:] == -1).all()


def is_bio(tags):
    return all(
        tag != 1 or before in (0, 1)
        for before, tag in itertools.pairwise((None, *tags))
    )


def test_values_at_padding_change_nothing():
    crf, scores = crf_layer(), scores_of(5, 5)
    tags = np.where(MASK, RNG.integers(N_TAGS, size=MASK.shape), -1)
    expected = crf.log_likelihood(scores, tags, MASK), crf(scores, mask=MASK)
    other = np.where(MASK[..., None], scores, 1e3)
    actual = crf.log_likelihood(other, tags, MASK), crf(other, mask=MASK)
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_array_equal(actual[1], expected[1])
    wider = np.pad(scores, [(0, 0), (0, 2), (0, 0)]), np.pad(MASK, [(0, 0), (0, 2)])
    padded_tags = np.pad(tags, [(0, 0), (0, 2)])
    actual = crf.log_likelihood(wider[0], padded_tags, wider[1])
    np.testing.assert_array_equal(actual, expected[0])


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_an_empty_batch_and_empty_sentences_are_legal(shape):
    crf = crf_layer()
    mask = np.ones(shape, bool)
    scores, tags = np.ones((*shape, N_TAGS)), np.zeros(shape, int)
    assert crf(scores, mask=mask).shape == shape
    likelihood = crf.log_likelihood(scores, tags, mask).numpy()
    np.testing.assert_array_equal(likelihood, np.zeros(shape[0]))


def test_gradients_are_those_of_finite_differences():
    crf = crf_layer()
    scores = tf.constant(scores_of(5, 5))
    tags = RNG.integers(N_TAGS, size=MASK.shape)

    def loss(scores):
        return tf.reduce_sum(crf.log_likelihood(scores, tags, MASK))

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(scores)
        value = loss(scores)
    gradients = tape.gradient(value, [scores, *crf.trainable_variables])
    assert len(gradients) == 4 and all(np.isfinite(g).all() for g in gradients)
    assert not np.any(gradients[0].numpy()[~MASK])
    step = 1e-5
    for place in ((0, 0, 1), (0, 4, 2), (1, 0, 0), (3, 2, 1)):
        change = np.zeros(scores.shape)
        change[place] = step
        slope = (loss(scores + change) - loss(scores - change)) / (2 * step)
        assert slope.numpy() == pytest.approx(gradients[0].numpy()[place], abs=1e-8)


def test_the_likelihood_of_half_precision_scores_is_in_single_precision():
    crf = crf_layer("mixed_bfloat16")
    scores = tf.cast(scores_of(5, 5), "bfloat16")
    tags = RNG.integers(N_TAGS, size=MASK.shape)
    likelihood = crf.log_likelihood(scores, tags, MASK)
    assert likelihood.dtype == tf.float32 and np.isfinite(likelihood).all()


def test_constraints_without_a_tag_in_a_row_are_refused():
    with pytest.raises(ValueError, match=r"shape \(4, 3\) and a tag in each row"):
        LinearChainCRF(N_TAGS, allowed=np.zeros((4, 3)).tolist())
    with pytest.raises(ValueError, match=r"shape \(4, 3\)"):
        LinearChainCRF(N_TAGS, allowed=[[True] * 3] * 3)
    crf = LinearChainCRF(N_TAGS, constraints(TAGS))
    assert LinearChainCRF.from_config(crf.get_config()).allowed == crf.allowed


ROWS = [[0, 1, 1, 2, 0], [0], [], [1, 0, 0, 2], [2, 0]]  # of tags
NUMBERS = tf.ragged.constant(ROWS, tf.int32).to_tensor(-1)


def test_probabilities_of_tags_and_spans_are_sums_over_sequences():
    crf = crf_layer("float32", scale=1.0, allowed=constraints(TAGS))
    scores = tf.constant(scores_of(5, 5), tf.float32)
    alone, after = tag_probabilities(scores, NUMBERS, crf)
    spans = tag_spans(NUMBERS, TAGS)
    assert spans.count.numpy().tolist() == [2, 1, 0, 3, 1]
    of_spans = span_probabilities(spans, alone, after)
    for row, tags in enumerate(ROWS):
        sequences, totals = by_hand(crf, scores.numpy()[row], len(tags))
        p = np.exp(totals) * [is_bio(sequence) for sequence in sequences]
        sequences = np.reshape(sequences, (len(p), len(tags)))

        n = int(spans.count[row])
        places = [(t, t + 1) for t in range(len(tags))]
        places += zip(spans.begins[row, :n].numpy(), spans.ends[row, :n].numpy())
        actual = [*np.exp(alone[row, : len(tags)]), *of_spans[row, :n].numpy()]
        for (begin, end), own in zip(places, actual, strict=True):
            same = sequences[:, begin:end] == tags[begin:end]
            expected = p[same.all(axis=1)].sum() / p.sum()
            assert own == pytest.approx(expected, rel=1e-5)
        assert not np.any(alone[row, len(tags) :])
        assert not np.any(of_spans[row, n:])


def test_without_a_crf_tags_are_independent():
    scores = tf.constant(scores_of(5, 5), tf.float32)
    alone, after = tag_probabilities(scores, NUMBERS, None)
    p = tf.nn.softmax(scores).numpy()
    assert np.exp(alone[0, 1]) == pytest.approx(p[0, 1, 1], rel=1e-5)
    expected = p[0, 0, 0] * p[0, 1, 1] * p[0, 2, 1]
    of_spans = span_probabilities(tag_spans(NUMBERS, TAGS), alone, after)
    assert float(of_spans[0, 0]) == pytest.approx(expected, rel=1e-5)


def test_a_sentence_of_thousands_of_tokens_keeps_its_precision():
    """The same tokens over and over: in the middle, nothing changes any more."""
    crf = crf_layer("float32", scale=1.0, allowed=constraints(TAGS))
    scores = tf.constant(np.tile([[[200.0, 199.0, 1.0]]], (1, 5000, 1)), tf.float32)
    weights = crf.constrained_weights(tf.float32)
    marginals = tf.function(crf_marginals, autograph=False)  # 5,000 steps
    log_p, _ = marginals(scores, tf.ones((1, 5000), bool), weights)
    short, _ = crf_marginals(scores[:, :101], tf.ones((1, 101), bool), weights)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(log_p[0, 2500], short[0, 50], atol=1e-4)
