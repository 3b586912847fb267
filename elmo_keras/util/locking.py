"""A lock that admits one process at a time to a folder."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

LOCK = "lock"


@contextlib.contextmanager
def only_process(folder: Path, message: str, *, wait: bool = False) -> Iterator[None]:
    """Holds the lock of a folder, which is made; the lock's file stays.

    If another process holds it, raises `ValueError(message)`, or prints it and waits. The
    lock ends with the process, however it ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        from filelock import FileLock, Timeout
    except ModuleNotFoundError:  # LiteRT needs nothing that is not required by it
        print(f"No lock for {folder}: filelock is not installed.", file=sys.stderr)
        yield
        return
    lock = FileLock(folder / LOCK, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if not wait:
            raise ValueError(message) from None
        print(message, file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
