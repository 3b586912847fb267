"""The options of a run: negatives, limits, and when things are due."""

import sys

import pytest

from elmo_keras.training.options import Limits, TrainingOptions
from elmo_keras.training.progress import Progress


@pytest.mark.parametrize(
    ("n_negatives", "sample_softmax", "expected"),
    [(95, True, 95), (96, True, None), (95, False, None)],
)
def test_the_softmax_is_full_for_small_vocabularies(
    n_negatives, sample_softmax, expected
):
    options = TrainingOptions(
        n_negative_samples_batch=n_negatives, sample_softmax=sample_softmax
    )
    assert options.n_negatives(100) == expected


@pytest.mark.parametrize(
    ("limits", "progress", "reached"),
    [
        (Limits(2), Progress(epoch=1, step=99), False),
        (Limits(2), Progress(epoch=2), True),
        (Limits(None, 5), Progress(epoch=9, step=4), False),
        (Limits(None, 5), Progress(step=5), True),
        (Limits(9, patience=2), Progress(not_better=1), False),
        (Limits(9, patience=2), Progress(not_better=2), True),
    ],
)
def test_training_ends_at_the_first_limit(limits, progress, reached):
    assert bool(limits.reached(progress)) == reached


def test_the_total_number_of_steps_follows_both_limits():
    assert Limits(3).total_steps(7) == 21
    assert Limits(3, 20).total_steps(7) == 20
    assert Limits(3, 22).total_steps(7) == 21
    assert Limits(None, 22).total_steps(7) == 22
    assert Limits(None).total_steps(7) == sys.maxsize


def test_the_total_number_of_steps_follows_the_progress():
    progress = Progress(epoch=1, step=9, epoch_step=2)  # the first epoch had 7
    assert Limits(3).total_steps(8, progress) == 7 + 8 + 8
    assert Limits(3, 20).total_steps(8, progress) == 20
