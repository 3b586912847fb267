"""Processes on Linux: their descendants, and the memory that they take."""

import collections
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest


def descendants(pid: int) -> list[int]:
    children = collections.defaultdict(list)
    for path in Path("/proc").glob("[0-9]*"):
        if stat := _stat(path.name):
            children[int(stat[1])].append(int(path.name))
    pids = [pid]
    for parent in pids:  # the list grows
        pids += children[parent]
    return pids[1:]


def title(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    return _read(pid, "cmdline").replace("\0", " ")


def megabytes(pid: int) -> int:
    """The resident memory of a process; 0 if it has ended."""
    return _kilobytes(pid, "VmRSS") // 2**10


def peak_megabytes(pid: int) -> int:
    """The peak of the resident memory of a process so far; 0 if it has ended."""
    return _kilobytes(pid, "VmHWM") // 2**10


@contextlib.contextmanager
def takes_less_than(megabytes: int) -> Iterator[None]:
    """Fails if this process's resident memory grows by more; skips without Linux."""
    peak = Path("/proc/self/clear_refs")
    if not peak.exists():
        pytest.skip("needs /proc of Linux to measure memory")
    peak.write_text("5")  # the peak starts again
    before = _kilobytes("self", "VmRSS")
    yield
    grown = (_kilobytes("self", "VmHWM") - before) // 2**10
    assert grown < megabytes, f"took {grown} MB"


def _kilobytes(pid, name):
    lines = _read(pid, "status").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(name))


def _stat(pid):
    return _read(pid, "stat").rpartition(")")[2].split()


def _read(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:  # it has ended
        return ""
