"""Files that are written whole, or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path; the file written there replaces `path` at the end.

    Raises:
        OSError: the file can't be put in place; the old file stays.
    """
    for left_over in path.parent.glob(f".{path.name}.[0-9]*"):
        left_over.unlink()  # of a process that was killed
    # The suffix is the same, because Keras takes the format from it.
    temporary = path.with_name(f".{path.name}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
