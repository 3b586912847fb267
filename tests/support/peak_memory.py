"""The memory that a piece of a program takes at its peak."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

PROCESS = Path("/proc/self")


@contextlib.contextmanager
def takes_less_than(megabytes: int) -> Iterator[None]:
    """Fails if the resident memory grows by more in between; skips without Linux."""
    if not (PROCESS / "clear_refs").exists():
        pytest.skip("needs /proc of Linux to measure memory")
    (PROCESS / "clear_refs").write_text("5")  # the peak starts again
    before = _kilobytes("VmRSS")
    yield
    grown = (_kilobytes("VmHWM") - before) // 2**10
    assert grown < megabytes, f"took {grown} MB"


def _kilobytes(name):
    for line in (PROCESS / "status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise KeyError(name)
