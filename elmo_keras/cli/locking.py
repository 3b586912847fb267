"""A lock that admits one process at a time to a folder."""

import contextlib
import fcntl
import sys
from collections.abc import Iterator
from pathlib import Path

LOCK = "lock"


@contextlib.contextmanager
def only_process(folder: Path, refusal: str) -> Iterator[None]:
    """Holds the lock of a folder.

    The file `lock` stays; the lock itself ends with the process, however it ends.

    Args:
        folder: made if it is missing, with its parents.
        refusal: the error message if another process holds the lock.

    Raises:
        ValueError: another process holds the lock.
        OSError: the folder can't be made or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(refusal) from None
        yield


@contextlib.contextmanager
def one_at_a_time(folder: Path, waiting: str) -> Iterator[None]:
    """Holds the lock of a folder, after waiting until no other process holds it.

    Args:
        folder: made if it is missing, with its parents.
        waiting: printed on standard error if there is a wait.

    Raises:
        OSError: the folder can't be made or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(waiting, file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
