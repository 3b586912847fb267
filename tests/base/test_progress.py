import io
import os
import sys

import pytest

from elmo_keras.base.messages import say, waiting
from elmo_keras.base.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_file_gets_lines_without_carriage_returns():
    log = io.StringIO()
    with Progress(total=10, file=log, mininterval=0, delay=0, leave=False) as progress:
        progress.update(5)
        progress.update(5)
    lines = log.getvalue().splitlines()
    assert "\r" not in log.getvalue()
    assert [line.split("|")[0].strip() for line in lines] == ["0%", "50%", "100%"]
    log = io.StringIO()
    with Progress(total=2, file=log) as progress:  # short work
        progress.update(1)
        progress.say("a line")
        progress.update(1)
    assert log.getvalue() == "a line\n"


def test_the_total_follows_from_the_share_that_is_done():
    with Progress(file=io.StringIO()) as progress:
        progress.add(10, share=None)
        assert progress.total is None
        progress.add(10, share=0.25)
        assert (progress.n, progress.total) == (20, 80)


@pytest.mark.parametrize(
    ("kind", "seconds", "shown"),
    [(Terminal, 2, False), (Terminal, 4, True), (io.StringIO, 99, False)],
)
def test_unless_told_a_terminal_shows_long_work(kind, seconds, shown, monkeypatch):
    stream, now = kind(), [1000.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with Progress(total=3, file=stream, progress=None) as progress:
        now[0] += seconds
        progress.update(1)
    assert ("33%" in stream.getvalue()) == shown


class Written:
    """A stream with what `print` needs, as some windows and notebooks have."""

    def __init__(self):
        self.write, self.flush = io.StringIO().write, lambda: None


@pytest.mark.parametrize("stream", [None, "closed", Written()])
@pytest.mark.parametrize("progress", [None, True])
def test_a_program_without_standard_error_goes_on(stream, progress, monkeypatch):
    if stream == "closed":
        stream = io.StringIO()
        stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    say("a line")
    with Progress(progress=progress, mininterval=0, delay=0) as bar:
        bar.add(1)
        bar.say("a line")


def test_what_was_skipped_and_the_time_of_other_work_are_not_in_the_rate(monkeypatch):
    now = [1000.0]
    for clock in ("time.time", "tqdm.std.time"):
        monkeypatch.setattr(clock, lambda: now[0])
    with Progress(file=io.StringIO(), mininterval=0, delay=0) as progress:
        progress.skip(1000)
        now[0] += 2
        with progress.paused():
            now[0] += 100
        progress.update(10)
        assert (progress.n, progress.initial) == (1010, 1000)
        assert progress.format_dict["rate"] == 5
        assert progress.format_dict["elapsed"] == 2


@pytest.mark.parametrize("shown", [False, True])
def test_a_terminal_shows_the_seconds_of_a_wait(shown, monkeypatch):
    reader, writer = os.openpty() if shown else os.pipe()
    with open(writer, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        output = b""
        with waiting("Loading"):
            while shown and b"1 s" not in output:
                output += os.read(reader, 999)
        os.write(writer, b".")
        while not output.endswith(b"."):
            output += os.read(reader, 999)
    os.close(reader)
    erase = "\x1b[K"
    begin, end = f"{erase}Loading …\r{erase}Loading … 1 s\r", f"{erase}\r."
    if shown:  # a slow machine may show more seconds
        assert output.decode().startswith(begin) and output.decode().endswith(end)
    else:
        assert output == b"."
