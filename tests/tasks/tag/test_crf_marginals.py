"""Probabilities of tags and spans, compared with sums over all tag sequences."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.tag.crf import LinearChainCRF, constraints
from elmo_keras.tasks.tag.tag_spans import crf_marginals, tag_probabilities, tag_spans
from tests.support.models import randomize

TAGS = ["B-A", "I-A", "O"]
LENGTHS = [4, 1, 0, 3]


@pytest.fixture(scope="module")
def crf():
    crf = LinearChainCRF(len(TAGS), constraints(TAGS))
    crf.build()
    return randomize(crf, scale=1.0)


@pytest.fixture(scope="module")
def scores():
    shape = len(LENGTHS), max(LENGTHS), len(TAGS)
    return tf.constant(2 * np.random.default_rng(1).normal(size=shape), tf.float32)


def numbers(rows):
    return tf.ragged.constant(rows, tf.int32).to_tensor(-1, shape=(None, max(LENGTHS)))


NUMBERS = [[0, 1, 1, 2], [0], [], [1, 0, 0]]


def by_sequences(crf, scores, row, holds):
    """The probability that something holds, among the sequences that are allowed."""
    pairs = np.array(constraints(TAGS))
    sequences = itertools.product(range(len(TAGS)), repeat=LENGTHS[row])
    sequences = [s for s in sequences if all(pairs[[-1, *s[:-1]], s])]
    sequences, n = np.array(sequences), LENGTHS[row]
    x = tf.repeat(scores[row : row + 1, :n], len(sequences), axis=0)
    log_p = crf.log_likelihood(x, sequences, tf.ones(sequences.shape, bool))
    p = np.exp(log_p - np.max(log_p))
    return p[[holds(list(tags)) for tags in sequences]].sum() / p.sum()


def test_the_probability_of_a_tag_is_a_sum_over_sequences(crf, scores):
    found = tag_probabilities(scores, numbers(NUMBERS), crf)
    for row, tags in enumerate(NUMBERS):
        for t, tag in enumerate(tags):
            expected = by_sequences(crf, scores, row, lambda s, t=t, k=tag: s[t] == k)
            assert np.exp(found.alone[row, t]) == pytest.approx(expected, rel=1e-5)
    assert not np.any(found.alone[2]) and not np.any(found.alone[1, 1:])


def test_the_probability_of_a_span_is_a_sum_over_sequences(crf, scores):
    spans = tag_spans(numbers(NUMBERS), TAGS)
    found = tag_probabilities(scores, numbers(NUMBERS), crf).of_spans(spans)
    assert spans.count.numpy().tolist() == [1, 1, 0, 3]
    for row, tags in enumerate(NUMBERS):
        for i in range(int(spans.count[row])):
            begin, end = int(spans.begins[row, i]), int(spans.ends[row, i])
            wanted = tags[begin:end]
            expected = by_sequences(
                crf, scores, row, lambda s, b=begin, e=end, w=wanted: s[b:e] == w
            )
            assert float(found[row, i]) == pytest.approx(expected, rel=1e-5)
        assert not np.any(found[row, int(spans.count[row]) :])


def test_without_a_crf_tags_are_independent(scores):
    spans = tag_spans(numbers(NUMBERS), TAGS)
    found = tag_probabilities(scores, numbers(NUMBERS), None)
    p = tf.nn.softmax(scores).numpy()
    assert np.exp(found.alone[0, 1]) == pytest.approx(p[0, 1, 1], rel=1e-5)
    expected = p[0, 0, 0] * p[0, 1, 1] * p[0, 2, 1]
    assert float(found.of_spans(spans)[0, 0]) == pytest.approx(expected, rel=1e-5)


def test_a_sentence_of_thousands_of_tokens_keeps_its_precision(crf):
    """The same tokens over and over: in the middle, nothing changes any more."""
    scores = tf.constant(np.tile([[[200.0, 199.0, 1.0]]], (1, 5000, 1)), tf.float32)
    weights = crf.constrained(tf.float32)
    log_p, _ = crf_marginals(scores, tf.ones((1, 5000), bool), weights)
    short, _ = crf_marginals(scores[:, :101], tf.ones((1, 101), bool), weights)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(log_p[0, 2500], short[0, 50], atol=1e-4)
