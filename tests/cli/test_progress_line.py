"""The line that shows how far a run is."""

import sys

import pytest

from elmo_keras.cli import progress_line
from elmo_keras.cli.progress_line import Progress


@pytest.fixture
def clock(monkeypatch):
    """Sets the time in seconds."""
    now = [0.0]
    monkeypatch.setattr(progress_line.time, "perf_counter", lambda: now[0])
    return lambda seconds: now.__setitem__(0, float(seconds))


def test_tokens_speed_and_time_left_are_shown(clock, capsys):
    with Progress(True) as progress:
        clock(10)
        progress.add(1000, 0.1)  # too early for a line
        clock(40)
        progress.add(3000, 0.25)
    assert capsys.readouterr().err == " 25% · 4,000 tokens · 100/s · 0:02:00 left\n"


def test_a_share_that_was_done_before_does_not_count_as_speed(clock, capsys):
    with Progress(True) as progress:
        progress.skip(0.5)
        clock(60)
        progress.add(600, 0.75)
    assert capsys.readouterr().err == " 75% · 600 tokens · 10/s · 0:01:00 left\n"


def test_without_a_size_there_is_no_time_left(clock, capsys):
    with Progress(True) as progress:
        clock(30)
        progress.add(60, None)
    assert capsys.readouterr().err == "60 tokens · 2/s\n"


def test_a_terminal_gets_one_line_that_is_written_over(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(True) as progress:
        for second in (1, 2):
            clock(second)
            progress.add(5, None)
    shown = capsys.readouterr().err
    assert shown.startswith("\r5 tokens · 5/s") and "\r10 tokens" in shown
    assert shown.count("\n") == 1


def test_a_line_that_is_not_wanted_is_not_printed(clock, capsys):
    with Progress(False) as progress:
        clock(99)
        progress.add(5, 0.5)
    assert capsys.readouterr().err == ""


def test_input_that_was_read_ahead_before_a_stop_gives_no_time_left(clock, capsys):
    with Progress(True) as progress:
        progress.skip(1.0)
        clock(30)
        progress.add(60, 1.0)
    assert capsys.readouterr().err == "100% · 60 tokens · 2/s\n"
