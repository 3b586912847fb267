"""What the monitor of training shows and records."""

import types

import pytest

from elmo_keras.training.distribution import make_strategy
from elmo_keras.training.monitor import Monitor
from elmo_keras.training.options import Limits
from elmo_keras.training.progress import Progress

STEPS_AN_EPOCH = 50


@pytest.fixture
def monitored(tmp_path, clock):
    """A function from limits to the monitor of a run that is in its second epoch."""

    def make(limits, **progress):
        run = types.SimpleNamespace(
            strategy=make_strategy(1),
            streams=types.SimpleNamespace(n_steps=lambda epoch: STEPS_AN_EPOCH),
            loss_name="sampled loss",
            progress=Progress(epoch=1, step=52, epoch_step=2, **progress),
        )
        return Monitor(run, tmp_path, limits)

    return make


def take_steps(monitor, n, clock, *, seconds=2.0, tokens=1000, loss=4.0):
    for _ in range(n):
        clock(seconds)
        monitor.run.progress.step += 1
        monitor.run.progress.epoch_step += 1
        monitor.add(loss, tokens)


def test_the_line_shows_rounded_means_with_units(monitored, clock, capsys):
    monitor = monitored(Limits(n_epochs=3))
    monitor.start_epoch()
    with monitor.tracing():
        clock(21.04)
        monitor.run.progress.step += 1
        monitor.run.progress.epoch_step += 1
    monitor.add(8.0, 1000)
    take_steps(monitor, 10, clock)
    monitor.waited = 0.0
    take_steps(monitor, 36, clock, loss=3.0)
    take_steps(monitor, 1, clock, tokens=2, loss=0.5)
    monitor.end_epoch()
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first == "Epoch 2/3, from step 2"
    assert lines[:2] == [
        "Tracing the training step …",
        "Traced the training step in 21.0 s",
    ]
    # The mean of 40 steps: ten whole rows of them, weighted by tokens. The speed is that
    # of the 47 steps after the first one, of which 50 are left at 2 seconds each.
    assert last == (
        "100% · sampled loss 3.375 nats · 489 tokens/s · 0:01:40 left · "
        "0.0% waiting for data · step 100"
    )


def test_only_steps_count_as_time_of_the_steps(monitored, clock):
    monitor = monitored(Limits(n_epochs=3))
    with monitor.tracing():
        clock(30)
        monitor.run.progress.step += 1
    monitor.add(4.0, 10)
    take_steps(monitor, 3, clock)
    with monitor.other_work("Evaluating"):
        clock(1000)
    take_steps(monitor, 2, clock)
    monitor.read()
    assert monitor.run.progress.seconds == pytest.approx(6 * 2.0)


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (Limits(n_epochs=3), " · 0:03:04 left"),  # 92 steps
        (Limits(n_epochs=3, n_steps=72), " · 0:00:28 left"),
        (Limits(n_epochs=None, n_steps=1058), " · 0:33:20 left"),
        (Limits(n_epochs=3, patience=1), " · at most 0:03:04 left"),
        (Limits(n_epochs=None, patience=1), ""),
    ],
)
def test_the_time_left_is_that_of_the_whole_training(
    monitored, clock, capsys, limits, left
):
    monitor = monitored(limits)
    monitor.pace.start(52)
    take_steps(monitor, 6, clock)
    monitor.end_epoch()
    shown = capsys.readouterr().out.splitlines()[-1]
    assert shown.startswith(" 16% · sampled loss 4.000 nats · 500 tokens/s")
    assert f"500 tokens/s{left} · 0.0% waiting" in shown


def test_waiting_for_data_is_a_share_of_the_time(monitored, clock, capsys):
    monitor = monitored(Limits(n_epochs=3))

    def elements():
        for number in range(4):
            clock(0.5)
            yield number

    for _ in monitor.timed(elements()):
        take_steps(monitor, 1, clock, seconds=1.5)
    monitor.end_epoch()
    assert " · 25.0% waiting for data · " in capsys.readouterr().out


def test_a_warning_is_one_line_every_time(monitored, capsys):
    monitor = monitored(Limits(n_epochs=3))
    for _ in range(2):
        monitor.warn("The disk\nis full")
    assert capsys.readouterr().err == "Warning: The disk is full\n" * 2


def test_a_loss_that_is_not_finite_ends_training(monitored, clock):
    monitor = monitored(Limits(n_epochs=3))
    with pytest.raises(FloatingPointError, match="no longer finite"):
        take_steps(monitor, 10, clock, loss=float("nan"))
    assert monitor.run.progress.losses == []
