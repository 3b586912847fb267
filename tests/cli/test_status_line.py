"""The line that shows the state of a program."""

import io

import pytest

from elmo_keras.cli import status_line
from elmo_keras.cli.status_line import StatusLine, duration


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    return Terminal()


def screen(written, columns=20):
    """What a terminal shows after this output: its lines, none of which may be full."""
    lines = []
    for line in written.split("\n"):
        cells = [" "] * columns
        for part in line.split("\r"):
            assert len(part) < columns  # the cursor would move to the next line
            cells[: len(part)] = part
        lines.append("".join(cells).rstrip())
    return lines


def test_a_terminal_shows_the_last_state_as_far_as_it_fits(terminal):
    line = StatusLine(terminal)
    line.show(["12345", "12345", "123"])
    assert screen(terminal.getvalue()) == ["12345 · 12345 · 123"]
    line.show(["ab", "cd"])
    assert screen(terminal.getvalue()) == ["ab · cd"]
    line.show(["12345", "12345", "1234"])
    assert screen(terminal.getvalue()) == ["12345 · 12345"]
    line.show(["1" * 99])
    assert screen(terminal.getvalue()) == ["1" * 19]


def test_other_output_takes_the_place_of_the_state(terminal):
    line = StatusLine(terminal)
    line.show(["state"])
    line.print("ok")
    line.show_briefly("working")
    line.end()
    assert screen(terminal.getvalue()) == ["ok", "working", ""]


def test_a_file_gets_a_line_for_each_new_state():
    file = io.StringIO()
    line = StatusLine(file)
    line.show(["1" * 99, "2"])
    line.clear()
    line.show_briefly("working")
    line.end()
    line.print("ok")
    for _ in range(2):
        line.show(["3"])
    assert file.getvalue() == f"{'1' * 99} · 2\nok\n3\n"


@pytest.mark.parametrize(("stream", "seconds"), [(Terminal, 0.2), (io.StringIO, 30)])
def test_an_update_is_due_after_a_while(stream, seconds, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(status_line.time, "perf_counter", lambda: now[0])
    line = StatusLine(stream())
    for start in (0.0, 100.0):
        now[0] = start + 0.9 * seconds
        assert not line.due
        now[0] = start + 1.1 * seconds
        assert line.due
        now[0] = 100.0
        line.show(["state"])


def test_a_line_that_is_not_shown_writes_nothing(terminal):
    line = StatusLine(terminal, shown=False)
    line.show(["state"])
    line.print("ok")
    line.clear()
    line.end()
    assert terminal.getvalue() == ""


def test_durations_have_hours_minutes_and_seconds():
    assert [duration(s) for s in (0.4, 125, 36000)] == [
        "0:00:00",
        "0:02:05",
        "10:00:00",
    ]
