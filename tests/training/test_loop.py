"""The loop of training: when it ends, what it keeps, what it shows and records."""

import contextlib
import io
import types

import pytest

from elmo_keras.perplexity import HeldOutPerplexity, Perplexity
from elmo_keras.training import loop
from elmo_keras.training.distribution import make_strategy
from elmo_keras.training.loop import Monitor, fit
from elmo_keras.training.options import Limits
from elmo_keras.training.progress import Progress
from tests.support.training_runs import ReusedRun

STEPS_AN_EPOCH = 50


def trained(reused: ReusedRun, folder, limits, results, chosen_by="zero"):
    """Trains with these results of evaluations, from the zero state and carried over.

    Returns the progress, and the steps after which the model was kept.
    """
    results, kept = iter([(99.0, 99.0), *results]), []
    run = reused.begin(folder)
    run.progress.chosen_by = chosen_by

    def evaluate(run):
        zero, carried = next(results)
        return HeldOutPerplexity(Perplexity(zero, zero), Perplexity(carried, carried))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "held_out_perplexity", evaluate)
        patch.setattr(
            loop, "write_model", lambda run, *_: kept.append(run.progress.step)
        )
        fit(run, limits, folder)
    return reused.run.progress, kept


@pytest.mark.parametrize(
    ("chosen_by", "patience", "best", "kept"),
    [("zero", 2, 8.0, [2, 4]), ("carried", 1, 1.0, [2])],
)
def test_training_ends_when_the_perplexity_stops_falling(
    reused, tmp_path, chosen_by, patience, best, kept
):
    """The published procedure is judged with the state carried over."""
    limits = Limits(epochs=50, patience=patience, evaluate_every=2)
    results = [(9.0, 1.0), (8.0, 2.0), (8.5, 0.5), (8.0, 0.5), (1.0, 1.0)]
    progress, found = trained(reused, tmp_path, limits, results, chosen_by)
    n = kept[-1] // 2 + patience
    assert (progress.step, progress.best, progress.not_better) == (
        2 * n,
        best,
        patience,
    )
    assert found == kept
    rows = progress.held_out, progress.held_out_carried
    assert [(z[1], c[1]) for z, c in zip(*rows)] == [(99.0, 99.0), *results[:n]]


def test_every_epoch_ends_with_an_evaluation(reused, tmp_path):
    limits = Limits(epochs=2)
    progress, kept = trained(reused, tmp_path, limits, [(3.0, 3.0), (2.0, 2.0)])
    n_steps = [reused.run.streams.n_steps(epoch) for epoch in range(2)]
    assert progress.step == sum(n_steps) and progress.epoch == 2
    assert kept == [n_steps[0], sum(n_steps)]
    n_predictions = reused.run.inputs.train.n_predictions
    ends = [row[0] for row in progress.held_out[1:]]
    assert ends == [n_predictions, 2 * n_predictions]


def test_a_perplexity_that_is_not_finite_ends_training(reused, tmp_path):
    with pytest.raises(FloatingPointError, match="no longer finite. Start again"):
        trained(reused, tmp_path, Limits(epochs=2), [(float("inf"), 3.0)])


@pytest.fixture
def monitor(tmp_path, clock, monkeypatch):
    """The monitor of a run that is in its second epoch."""
    run = types.SimpleNamespace(
        strategy=make_strategy(1),
        streams=types.SimpleNamespace(n_steps=lambda epoch: STEPS_AN_EPOCH),
        loss_name="sampled loss",
        progress=Progress(1, 2, 52, 52_000, losses=[(52_000, 4.0)]),
    )
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        monitor = Monitor(run, Limits(epochs=3), tmp_path)
    monitor.shown = shown
    monitor.written = []
    monkeypatch.setattr(monitor, "write", lambda *args: monitor.written.append(args))
    return monitor


def take_steps(monitor, n, clock, *, seconds=2.0, tokens=1000, loss=4.0):
    for _ in range(n):
        clock(seconds)
        monitor.add_step((loss, tokens))


def test_the_bar_shows_the_loss_and_the_share_of_all_steps(monitor, clock):
    monitor.start_epoch()
    take_steps(monitor, 10, clock)
    assert monitor.bar.n == 62_000 and monitor.bar.initial == 52_000
    # The third epoch has 50 steps too, and 40 of the second one are left.
    assert monitor.bar.total == round(62_000 / (62 / (62 + 38 + 50)))
    assert monitor.bar.postfix == "sampled loss 4.000 nats, step 62"
    assert monitor.shown.getvalue() == "Epoch 2/3, from step 2\n"
    assert monitor.written == [({"sampled loss": 4.0, "tokens/s": 500.0}, 62)]


def test_only_steps_count_as_time_of_the_steps(monitor, clock):
    with monitor.tracing():
        clock(30)
    take_steps(monitor, 1, clock, seconds=0.0)  # whose results have come
    take_steps(monitor, 3, clock)
    with monitor.other_work("Evaluating"):
        clock(1000)
    take_steps(monitor, 2, clock)
    monitor.read()
    assert monitor.run.progress.seconds == pytest.approx(6 * 2.0)


def test_a_loss_that_is_not_finite_ends_training(monitor, clock):
    with pytest.raises(FloatingPointError, match="no longer finite"):
        take_steps(monitor, 10, clock, loss=float("nan"))
    assert len(monitor.run.progress.losses) == 1
