"""Files that are written whole, or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path that takes the place of `path` once it is written.

    Raises:
        OSError: the file can't be put in place; what was there stays.
    """
    for left_over in path.parent.glob(f".{path.name}.[0-9]*"):
        left_over.unlink()  # by a process that was killed
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
