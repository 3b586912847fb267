"""Lines, tables and JSON of data files, and the error of a malformed one."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from elmo_keras.text.files import GZIP_ERRORS, incomplete, lines_of, unzipped

T = TypeVar("T")
R = TypeVar("R")
MAX_TEXT = 2**28  # bytes of a file that is read as a whole
SPACES = " \t"  # what separates columns; a word may hold other white space


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, plain or gzipped, without line ends, numbered from 1.

    Lines of spaces and tabs at the end of the file are left out.
    """
    empty = []
    with Path(path).open("rb") as file:
        for number, content in enumerate(lines_of(file, path), 1):
            line = content.decode().rstrip("\r\n")
            empty.append((number, line))
            if line.strip(SPACES):
                yield from empty
                empty.clear()


def blocks(path: str | Path) -> Iterator[list[tuple[int, str]]]:
    """Groups of lines between empty ones: sentences, in most column formats."""
    block = []
    for number, line in numbered_lines(path):
        if line.strip(SPACES):
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def malformed(path: str | Path, place: int | str, reason: str) -> ValueError:
    """The error in a line of a file, or in an item such as `[3]`."""
    return ValueError(f"{path}:{place}: {reason}")


def parse_all(
    path: str | Path,
    items: Iterable[tuple[int | str, T]],
    parse: Callable[[T], R | None],
) -> list[R]:
    """What `parse` makes of items, without `None`; its errors get the place of the item."""
    results = []
    for place, item in items:
        try:
            results.append(parse(item))
        except ValueError as error:
            raise malformed(path, place, str(error)) from None
    return [result for result in results if result is not None]


def table_rows(
    path: str | Path, columns: Sequence[str], *, header: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """The number of each line, and its cells in some columns, separated by tabs.

    The first line names the columns of the file; without a `header`, it has just these.
    """
    names = [] if header else list(columns)
    for number, line in numbered_lines(path):
        cells = line.split("\t")
        if not names:
            names = cells
            _check_columns(path, names, columns)
        elif len(cells) == len(names):
            yield number, [cells[names.index(name)] for name in columns]
        else:
            reason = f"{len(names)} fields separated by tabs are expected, not "
            raise malformed(path, number, reason + str(len(cells)))
    if not names:
        _check_columns(path, names, columns)


def _check_columns(path, names, columns):
    if missing := [name for name in columns if name not in names]:
        reason = f"columns {', '.join(columns)}, separated by tabs, are expected. "
        raise malformed(path, 1, f"{reason}Missing: {', '.join(missing)}")


def read_json(path: str | Path) -> Any:
    """The value of a file of JSON, plain or gzipped, whose lines may be megabytes long."""
    try:
        with Path(path).open("rb") as file:
            content = unzipped(file).read(MAX_TEXT + 1)
        if len(content) > MAX_TEXT:
            raise ValueError(f"{path} should have at most {MAX_TEXT:,} bytes.")
        return parse_json(path, 1, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise malformed(path, line, f"should be UTF-8. {error}") from None
    except GZIP_ERRORS as error:
        raise incomplete(path, error) from None


def parse_json(path: str | Path, line: int, text: str) -> Any:
    """The value of a text that begins in a line of a file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"JSON is expected. Column {error.colno}: {error.msg}"
        raise malformed(path, line + error.lineno - 1, reason) from None
    except RecursionError:
        raise malformed(path, line, "the JSON has too many nested brackets") from None
