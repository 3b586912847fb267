"""Records and reports of a run: losses, perplexities, curves and warnings."""

import re

import numpy as np
import pytest

from elmo_keras.training.progress import Progress
from elmo_keras.training.report import describe_result, describe_rise, draw_curves

HELD_OUT = [
    [0, 2.0, 2.0, 2.0, 3.0],
    [10, 9.0, 4.0, 5.0, 4.0],
    [20, 3.0, 11.0, 6.0, 5.0],
    [30, 2.0, 32.0, 7.0, 8.0],
]


def test_the_recent_loss_is_that_of_a_token_in_a_hundred_steps():
    steps = [(9.0, 7)] * 30 + [(float(i % 7), 1 + i) for i in range(100)]
    losses, tokens = np.array(steps).T
    progress = Progress()
    for step in steps:
        progress.add_step(*step)
    expected = np.average(losses[30:], weights=tokens[30:])
    assert progress.mean_loss() == pytest.approx(expected)
    assert progress.tokens == tokens.sum() and len(progress.losses) == 13
    assert np.isnan(Progress().mean_loss())


@pytest.mark.parametrize(
    ("chosen_by", "first", "best"),
    [("zero", 0, 0), ("zero", 1, 2), ("carried", 0, 0), ("carried", 1, 1)],
)
def test_the_lowest_mean_of_all_evaluations_is_the_best(chosen_by, first, best):
    """The one before training counts, too."""
    progress = Progress(held_out=HELD_OUT[first:], chosen_by=chosen_by)
    assert progress.best == best - first
    assert progress.not_better == 3 - best
    progress = Progress(chosen_by=chosen_by)
    assert progress.best == progress.not_better == 0


def test_both_perplexities_are_compared():
    rows = [[0, 40.0, 10.0, 9.0, 4.0], [5, 2.5, 10.0, 8.0, 8.0], [10, *4 * [9.0]]]
    lines = describe_result(Progress(held_out=rows), chosen=1).splitlines()
    assert lines[0].endswith(
        "before training: forward 40.0, backward 10.0, mean 20.0; "
        "state carried over: forward 9.0, backward 4.0, mean 6.0"
    )
    assert lines[1].startswith("Held-out perplexity after training:  forward 2.5")
    assert lines[2] == "The mean fell from 20.0 to 5.0"


@pytest.mark.parametrize(
    ("after", "rise"),
    [
        (69670.3, "rose 557-fold, from 125.0 to 69,670.3"),
        (126.5, "rose by 1.2%, from 125.0 to 126.5"),
    ],
)
def test_a_rise_is_described(after, rise):
    rows = [[0, *4 * [125.0]], [5, *4 * [1e6]], [10, *4 * [after]]]
    assert rise in describe_rise(Progress(held_out=rows))


def test_a_loss_far_above_the_perplexity_before_training_is_too_high():
    assert Progress().highest_loss == np.inf
    progress = Progress(held_out=[[0, *4 * [125.0]], [10, *4 * [9e9]]])
    assert progress.highest_loss == pytest.approx(np.log(12500))


@pytest.mark.parametrize("n_steps", [0, 160])
def test_the_picture_names_axes_units_and_means(n_steps, tmp_path):
    progress = Progress(held_out=[[0, *4 * [900.0]], [1600, *4 * [80.0]]])
    for step in range(n_steps):
        progress.add_step(9 - step / 40, 10)
    draw_curves(progress, tmp_path / "curves.svg", "sampled loss")
    shown = set(re.findall(r"<!-- (.+?) -->", (tmp_path / "curves.svg").read_text()))
    texts = {"Training text: sampled loss", "nats a token", "perplexity", "forward"}
    assert texts | {"tokens read in each direction"} <= shown
