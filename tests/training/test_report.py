"""The perplexities that a run reports."""

import types
from pathlib import Path

import pytest

from elmo_keras.training.options import Limits
from elmo_keras.training.perplexity import Perplexity
from elmo_keras.training.progress import Progress
from elmo_keras.training.report import (
    beginning,
    best_perplexity,
    perplexity_before,
    result,
)


def test_the_best_perplexity_leaves_out_the_one_before_training():
    rows = [(0, 2.0, 2.0), (10, 9.0, 4.0), (20, 3.0, 11.0), (30, 2.0, 32.0)]
    run = types.SimpleNamespace(progress=Progress(held_out=rows))
    assert perplexity_before(run) == Perplexity(2.0, 2.0)
    assert best_perplexity(run) == Perplexity(3.0, 11.0)  # the lowest mean alone
    run.progress.held_out = rows[:1]
    assert best_perplexity(run) is None


@pytest.mark.parametrize(
    ("after", "verdict"),
    [(2.5, "fell to 1/4.0"), (10, "fell to 1/1.0"), (20, "rose to 2.0")],
)
def test_both_perplexities_are_compared(after, verdict):
    rows = [(0, 10.0, 10.0), (5, after, after)]
    run = types.SimpleNamespace(progress=Progress(held_out=rows))
    lines = result(run, finished=True).splitlines()
    assert lines[0].endswith("before training: forward 10.0, backward 10.0, mean 10.0")
    assert lines[1].startswith("Held-out perplexity after training:  forward ")
    assert lines[2] == f"The mean {verdict} of what it was"


def test_a_finished_run_names_every_limit_it_has_reached():
    progress, path = Progress(epoch=2, step=1234, not_better=1), Path("checkpoint-1234")
    assert beginning(progress, Limits(3), path) == (
        "Resuming from step 1,234, checkpoint-1234"
    )
    assert beginning(progress, Limits(2, n_steps=1000, patience=2), path) == (
        "Training is finished: checkpoint-1234 has reached --epochs 2 and --steps 1000. "
        "To continue, give a higher --epochs and --steps."
    )
