"""What a run records and reports: losses, perplexities, curves and warnings."""

import re

import numpy as np
import pytest

from elmo_keras.training.progress import Progress
from elmo_keras.training.report import describe_result, draw_curves

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


@pytest.mark.parametrize(("chosen_by", "best"), [("zero", 2), ("carried", 1)])
def test_the_best_perplexity_leaves_out_the_one_before_training(chosen_by, best):
    progress = Progress(held_out=HELD_OUT, chosen_by=chosen_by)
    both = progress.evaluations()[best]
    assert [*both.zero, *both.carried] == HELD_OUT[best][1:]
    assert progress.best_evaluation() == both  # the lowest mean alone
    assert progress.not_better == 3 - best
    progress = Progress(held_out=HELD_OUT[:1])
    assert progress.best_evaluation() is None and progress.not_better == 0


@pytest.mark.parametrize(
    ("after", "verdict"),
    [(2.5, "fell to 1/4.0"), (10, "fell to 1/1.0"), (20, "rose to 2.0")],
)
def test_both_perplexities_are_compared(after, verdict):
    rows = [[0, 10.0, 10.0, 9.0, 4.0], [5, after, after, 8.0, 8.0]]
    progress = Progress(held_out=rows)
    lines = describe_result(progress, finished=True).splitlines()
    assert lines[0].endswith(
        "before training: forward 10.0, backward 10.0, mean 10.0; "
        "state carried over: forward 9.0, backward 4.0, mean 6.0"
    )
    assert lines[1].startswith("Held-out perplexity after training:  forward ")
    assert lines[2] == f"The mean {verdict} of what it was"


@pytest.mark.parametrize("n_steps", [0, 160])
def test_the_picture_names_axes_units_and_means(n_steps, tmp_path):
    progress = Progress(held_out=[[0, *4 * [900.0]], [1600, *4 * [80.0]]])
    for step in range(n_steps):
        progress.add_step(9 - step / 40, 10)
    draw_curves(progress, tmp_path / "curves.svg", "sampled loss")
    shown = set(re.findall(r"<!-- (.+?) -->", (tmp_path / "curves.svg").read_text()))
    texts = {"Training text: sampled loss", "nats a token", "perplexity", "forward"}
    assert texts | {"tokens read in each direction"} <= shown
