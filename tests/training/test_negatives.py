"""The sampler of the negatives, against its definition and against TensorFlow's."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.training.streams import Negatives, draw_negatives

SIZE, N, DRAWS = 50, 7, 4000


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    return [draw_negatives(rng, N, SIZE) for _ in range(DRAWS)]


def test_negatives_are_distinct_words_and_a_function_of_the_generator(drawn):
    for negatives in drawn:
        assert negatives.ids.shape == (N,) and len(set(negatives.ids)) == N
        assert negatives.n_draws >= N and negatives.vocabulary_size == SIZE
    assert {int(i) for n in drawn for i in n.ids} == set(range(SIZE))
    a, b, c = (draw_negatives(np.random.default_rng(s), N, SIZE) for s in (1, 1, 2))
    assert a.ids.tolist() == b.ids.tolist() != c.ids.tolist() and a.n_draws == b.n_draws


def test_words_are_drawn_as_often_as_expected(drawn):
    counts = np.bincount(np.concatenate([n.ids for n in drawn]), minlength=SIZE)
    logs = [n.log_expected_counts(np.arange(SIZE)) for n in drawn]
    assert logs[0].dtype == np.float32
    expected = np.exp(logs).mean(axis=0)
    # Stopping at the N-th distinct word makes the expectation a little wrong, by
    # less than 0.01; five standard deviations of 4,000 draws are below 0.04.
    np.testing.assert_allclose(counts / DRAWS, expected, atol=0.05)
    assert counts.sum() == N * DRAWS and expected.sum() == pytest.approx(N, rel=0.02)


def test_the_first_draw_has_the_log_uniform_distribution(drawn):
    first = np.bincount([n.ids[0] for n in drawn], minlength=SIZE) / DRAWS
    ids = np.arange(SIZE)
    probability = np.log((ids + 2) / (ids + 1)) / np.log(SIZE + 1)
    deviation = np.sqrt(probability * (1 - probability) / DRAWS)
    assert np.all(np.abs(first - probability) < 5 * deviation)


def test_the_expected_counts_are_those_of_tensorflow():
    # Half of the words, so that some are always drawn twice: without that
    # TensorFlow gives the counts with repetitions.
    n, ids, rng = SIZE // 2, tf.range(SIZE, dtype=tf.int64)[None], np.random
    theirs = [
        tf.random.log_uniform_candidate_sampler(ids, SIZE, n, True, SIZE, seed=s)
        for s in range(100)
    ]
    theirs = np.mean([s.true_expected_count[0] for s in theirs], axis=0)
    drawn = [draw_negatives(rng.default_rng(s), n, SIZE) for s in range(1000)]
    ours = np.mean([np.exp(d.log_expected_counts(ids[0].numpy())) for d in drawn], 0)
    # The number of draws varies by 15 %, so the mean of 100 by 1.5 %.
    np.testing.assert_allclose(ours, theirs, rtol=0.07)


def test_the_expected_count_is_that_of_the_number_of_draws():
    negatives = Negatives(np.array([0, 1]), 3, 4)
    expected = np.log(1 - (1 - np.log(2) / np.log(5)) ** 3)
    found = negatives.log_expected_counts(np.array([0]))
    assert found[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("size", [2, 3, 40])
def test_all_words_but_one_can_be_drawn(size):
    negatives = draw_negatives(np.random.default_rng(0), size - 1, size)
    assert len(set(negatives.ids)) == size - 1 and max(negatives.ids) < size
    assert np.isfinite(negatives.log_expected_counts(np.arange(size))).all()
