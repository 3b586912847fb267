"""Files that are written whole, or not at all."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path; the file written there replaces `path` at the end."""
    for left_over in left_overs(path):
        left_over.unlink(missing_ok=True)  # of a process that was killed
    temporary = temporary_path(path)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """Where this process writes a file until it is complete."""
    # The suffix is the same, because Keras takes the format from it.
    return path.with_name(f".{path.name}.{os.getpid()}{path.suffix}")


def left_overs(path: Path) -> list[Path]:
    """The temporary files of all processes for a path, which `replacing` removes."""
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+{re.escape(path.suffix)}")
    # A name may hold `*` or `[`, so it is no pattern for `glob`.
    return [p for p in path.parent.glob(".*") if name.fullmatch(p.name)]
