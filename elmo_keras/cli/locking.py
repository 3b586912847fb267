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
    with _lock(folder) as lock:
        if not _is_free(lock):
            raise ValueError(refusal)
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
    with _lock(folder) as lock:
        if not _is_free(lock):
            print(waiting, file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / LOCK).open("w")


def _is_free(lock):
    """Takes the lock, unless another process holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
