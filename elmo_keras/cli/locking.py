"""A lock that admits one process at a time to a folder."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

LOCK = "lock"


@contextlib.contextmanager
def only_process(folder: Path, refusal: str) -> Iterator[None]:
    """Holds the lock of a folder, which is made; `ValueError(refusal)` if another holds it.

    The file `lock` stays; the lock itself ends with the process, however it ends.
    """
    try:
        held = _lock(folder).acquire(blocking=False)
    except Timeout:
        raise ValueError(refusal) from None
    with held:
        yield


@contextlib.contextmanager
def one_at_a_time(folder: Path, waiting: str) -> Iterator[None]:
    """Holds the lock of a folder, which is made; prints `waiting` if it has to wait."""
    lock = _lock(folder)
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        print(waiting, file=sys.stderr, flush=True)
        held = lock.acquire()
    with held:
        yield


def _lock(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / LOCK, thread_local=False)
