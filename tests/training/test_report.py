"""What a run records and reports: losses, perplexities, curves and warnings."""

import re
from pathlib import Path

import numpy as np
import pytest

from elmo_keras.perplexity import HeldOutPerplexity, Perplexity
from elmo_keras.training.options import Limits
from elmo_keras.training.progress import Progress
from elmo_keras.training.report import (
    describe_result,
    describe_resumption,
    draw_curves,
)

ZERO = [(0, 2.0, 2.0), (10, 9.0, 4.0), (20, 3.0, 11.0), (30, 2.0, 32.0)]
CARRIED = [(0, 2.0, 3.0), (10, 5.0, 4.0), (20, 6.0, 5.0), (30, 7.0, 8.0)]
# Loss and number of tokens of each step; the last steps of an epoch have few tokens.
EPOCH = [(5.0, 100), (4.0, 100), (3.0, 100), (1.0, 2)]
STEPS = 7 * EPOCH


def recorded(steps, progress=None):
    progress = progress or Progress()
    complete = [progress.add_step(*step) for step in steps]
    return progress, complete


def test_a_row_is_the_mean_of_ten_steps_weighted_by_their_tokens():
    progress, complete = recorded(STEPS)
    assert [i for i, c in enumerate(complete, 1) if c] == [10, 20]
    losses, tokens = np.array(STEPS).T
    rows = [
        (tokens[:end].sum(), np.average(losses[part], weights=tokens[part]))
        for end, part in ((10, slice(0, 10)), (20, slice(10, 20)))
    ]
    np.testing.assert_allclose(progress.losses, rows)
    assert progress.open_steps == 8 and progress.tokens == tokens.sum()
    first, end, means = progress.loss_rows().T  # which cover all tokens
    assert first[0] == 0 and (first[1:] == end[:-1]).all()
    assert end[-1] == progress.tokens
    assert means @ (end - first) == pytest.approx(losses @ tokens)
    assert Progress().loss_rows().shape == (0, 3)


def test_the_recent_loss_is_the_mean_of_a_hundred_steps():
    assert Progress().recent_loss() is None
    assert recorded(EPOCH[:2])[0].recent_loss() == 4.5
    steps = [(9.0, 7)] * 30 + [(float(i % 7), 1 + i) for i in range(100)] + [(1.0, 5)]
    losses, tokens = np.array(steps[30:130]).T
    expected = np.average(losses, weights=tokens)
    assert recorded(steps)[0].recent_loss() == pytest.approx(expected)


@pytest.mark.parametrize(("chosen_by", "best"), [("zero", 2), ("carried", 1)])
def test_the_best_perplexity_leaves_out_the_one_before_training(chosen_by, best):
    progress = Progress(held_out=ZERO, held_out_carried=CARRIED, chosen_by=chosen_by)
    both = [
        HeldOutPerplexity(Perplexity(*z[1:]), Perplexity(*c[1:]))
        for z, c in zip(ZERO, CARRIED)
    ]
    assert progress.evaluations() == both
    assert progress.best_evaluation() == both[best]  # the lowest mean alone
    progress.held_out, progress.held_out_carried = ZERO[:1], CARRIED[:1]
    assert progress.best_evaluation() is None


@pytest.mark.parametrize(
    ("after", "verdict"),
    [(2.5, "fell to 1/4.0"), (10, "fell to 1/1.0"), (20, "rose to 2.0")],
)
def test_both_perplexities_are_compared(after, verdict):
    zero = [(0, 10.0, 10.0), (5, after, after)]
    progress = Progress(held_out=zero, held_out_carried=[(0, 9.0, 4.0), (5, 8.0, 8.0)])
    lines = describe_result(progress, finished=True).splitlines()
    assert lines[0].endswith(
        "before training: forward 10.0, backward 10.0, mean 10.0; "
        "state carried over: forward 9.0, backward 4.0, mean 6.0"
    )
    assert lines[1].startswith("Held-out perplexity after training:  forward ")
    assert lines[2] == f"The mean {verdict} of what it was"


def test_a_finished_run_names_every_limit_it_has_reached():
    progress, path = Progress(epoch=2, step=1234, not_better=1), Path("checkpoint-1234")
    assert describe_resumption(progress, Limits(epochs=3), path) == (
        "Resuming from step 1,234, checkpoint-1234"
    )
    assert describe_resumption(
        progress, Limits(epochs=2, steps=1000, patience=2), path
    ) == (
        "Training is finished: checkpoint-1234 has reached --epochs 2 and --steps 1000. "
        "To continue, give a higher --epochs and --steps."
    )


@pytest.mark.parametrize("n_steps", [0, 160])
def test_the_picture_names_axes_units_and_means(n_steps, tmp_path):
    progress = Progress(held_out=[(0, 900.0, 800.0), (1600, 90.0, 80.0)])
    for step in range(n_steps):
        progress.add_step(9 - step / 40, 10)
    draw_curves(progress, tmp_path / "curves.svg", "sampled loss")
    shown = set(re.findall(r"<!-- (.+?) -->", (tmp_path / "curves.svg").read_text()))
    texts = {"Training text: sampled loss", "nats a token", "perplexity", "forward"}
    assert texts | {"tokens read in each direction"} <= shown
