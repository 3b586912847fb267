"""The paired test of two variants' scores."""

import itertools

import numpy as np
import pytest

from elmo_keras.analyses.compare.paired_test import paired_test


def exact_match(predicted):
    return float(np.mean(predicted))


def test_p_is_the_share_of_all_exchanges_with_as_large_a_difference():
    first = [1, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    second = [1, 1, 1, 0, 1, 1, 1, 0, 1, 0]
    differing = [b - a for a, b in zip(first, second) if a != b]
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differing)))
        for signs in itertools.product((1, -1), repeat=len(differing))
    ]
    exact = np.mean(np.array(sums) >= abs(sum(differing)))
    found = paired_test([first], [second], [exact_match], shuffles=4000)
    assert found.difference == pytest.approx(0.4)
    assert found.p == pytest.approx(exact, abs=0.03) and exact == pytest.approx(0.21875)


def test_the_same_predictions_do_not_differ():
    assert paired_test([[1, 0]], [[1, 0]], [exact_match], shuffles=9) == (0, 1)


def test_seeds_are_exchanged_together_and_averaged():
    # Each example is as good in both variants, averaged over the seeds.
    first, second = [[1, 1, 0, 0], [0, 0, 1, 1]], [[0, 0, 1, 1], [1, 1, 0, 0]]
    assert paired_test(first, second, [exact_match] * 2, shuffles=50) == (0, 1)
    # With a score that is no mean over examples, such as F1.
    product = [lambda some: some[0] * some[1]] * 2
    found = paired_test([[0, 0]] * 2, [[1, 1]] * 2, product, shuffles=2000)
    assert found.difference == 1 and found.p == pytest.approx(0.5, abs=0.05)


def test_other_numbers_of_examples_or_seeds_are_refused():
    with pytest.raises(ValueError, match="Received 1 and 1 seeds with \\[1, 2\\]"):
        paired_test([[1]], [[1, 0]], [exact_match])
    with pytest.raises(ValueError, match="Received 2 and 1 seeds"):
        paired_test([[1], [1]], [[1]], [exact_match])
