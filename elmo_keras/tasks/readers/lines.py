"""Lines of data files, and the error of a malformed one."""

from collections.abc import Iterator
from pathlib import Path

from elmo_keras.text.files import lines_of


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, plain or gzipped, without line ends, numbered from 1.

    Raises:
        ValueError: the file is not UTF-8; the message names the line.
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(lines_of(file, path), 1):
            yield number, line.decode().rstrip("\r\n")


def blocks(path: str | Path) -> Iterator[list[tuple[int, str]]]:
    """Groups of lines between blank ones: sentences, in most column formats."""
    block = []
    for number, line in numbered_lines(path):
        if line.strip(" \t"):
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def malformed(path: str | Path, line: int, reason: str) -> ValueError:
    """The error of a line: `file:line: reason`."""
    return ValueError(f"{path}:{line}: {reason}")
