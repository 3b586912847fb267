"""The perplexities that a run reports."""

import types

import pytest

from elmo_keras.training.perplexity import Perplexity
from elmo_keras.training.progress import Progress
from elmo_keras.training.report import best_perplexity, perplexity_before, result


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
