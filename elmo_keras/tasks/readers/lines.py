"""Lines of data files, and the error of a malformed one."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from elmo_keras.text.files import lines_of, unzipped

SPACES = " \t"  # what separates columns; a word may hold other white space


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, plain or gzipped, without line ends, numbered from 1.

    Raises:
        ValueError: the file is not UTF-8; the message names the line.
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(lines_of(file, path), 1):
            yield number, line.decode().rstrip("\r\n")


def whole_text(path: str | Path) -> str:
    """The text of a UTF-8 file, plain or gzipped, whose lines may be megabytes long.

    Raises:
        ValueError: the file is not UTF-8, or not a complete gzip file.
        OSError: the file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            return unzipped(file).read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise malformed(path, line, f"should be UTF-8. {error}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} should be a complete gzip file. {error}") from None


def blocks(path: str | Path) -> Iterator[list[tuple[int, str]]]:
    """Groups of lines between blank ones: sentences, in most column formats."""
    block = []
    for number, line in numbered_lines(path):
        if line.strip(SPACES):
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def malformed(path: str | Path, line: int, reason: str) -> ValueError:
    """The error of a line: `file:line: reason`."""
    return ValueError(f"{path}:{line}: {reason}")
