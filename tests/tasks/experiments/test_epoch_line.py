"""The line of an epoch, and the time of its steps."""

from elmo_keras.tasks.experiments.epoch_line import EpochLine


def train(line, clock, epoch, seconds):
    """An epoch whose steps take these seconds; returns its time."""
    line.start(epoch)
    line.set_params({"steps": len(seconds)})
    for number, of_step in enumerate(seconds):
        clock(of_step)
        line.on_train_batch_end(number, {"loss": 0.5})
    time = line.end_steps()
    clock(1)
    line.finish("F1 50.00")
    return time


def test_tracing_is_shown_and_not_counted_as_time_of_an_epoch(clock, capsys):
    with EpochLine(True) as line:
        assert train(line, clock, 1, [11.0, 2.0, 2.0]) == 6.0
        assert train(line, clock, 2, [3.0, 2.0, 2.0]) == 7.0
    assert capsys.readouterr().out.splitlines() == [
        "  epoch   1 · tracing the first step …",
        "  epoch   1  F1 50.00  6.0 s, besides 11.0 s for the first step, which is traced",
        "  epoch   2  F1 50.00  7.0 s",
    ]


def test_a_long_epoch_shows_its_state_and_the_time_left(clock, capsys):
    with EpochLine(True) as line:
        train(line, clock, 1, [10.0] * 6)
    shown = capsys.readouterr().out.splitlines()[1:-1]
    assert shown == [
        "  epoch   1 ·  50% · loss 0.5000 · 0:00:30 left",
        "  epoch   1 · 100% · loss 0.5000 · 0:00:00 left",
    ]


def test_a_single_step_counts_with_tracing(clock, capsys):
    with EpochLine(True) as line:
        assert train(line, clock, 1, [9.0]) == 9.0
    assert capsys.readouterr().out.endswith("  epoch   1  F1 50.00  9.0 s\n")


def test_nothing_is_printed_unless_it_is_asked_for(clock, capsys):
    with EpochLine(False) as line:
        train(line, clock, 1, [40.0, 40.0])
    assert capsys.readouterr().out == ""
