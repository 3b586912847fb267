"""The processes that a process has started, on Linux."""

import os
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """All processes below a process."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        if (stat := _read(path / "stat")) is not None:
            parent = int(stat.rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def title(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    return (_read(Path(f"/proc/{pid}/cmdline")) or "").replace("\0", " ")


def peak_megabytes(pid: int) -> int:
    """The peak of the resident memory of a process so far; 0 if it has ended."""
    status = _read(Path(f"/proc/{pid}/status")) or ""
    lines = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return sum(int(line.split()[1]) for line in lines) // 2**10


def processor_seconds(pid: int) -> float:
    """The time that a process has computed so far; 0 if it has ended."""
    stat = _read(Path(f"/proc/{pid}/stat")) or ""
    ticks = stat.rpartition(")")[2].split()[11:13]  # in its own code, and in the system
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _read(path):
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended
        return None
