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
    """The lines of a UTF-8 file, plain or gzipped, without line ends, numbered from 1."""
    with Path(path).open("rb") as file:
        for number, line in enumerate(lines_of(file, path), 1):
            yield number, line.decode().rstrip("\r\n")


def whole_text(path: str | Path) -> str:
    """The text of a UTF-8 file, plain or gzipped, whose lines may be megabytes long."""
    try:
        with Path(path).open("rb") as file:
            content = unzipped(file).read(MAX_TEXT + 1)
        if len(content) > MAX_TEXT:
            raise ValueError(f"{path} should have at most {MAX_TEXT:,} bytes.")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise malformed(path, line, f"should be UTF-8. {error}") from None
    except GZIP_ERRORS as error:
        raise incomplete(path, error) from None


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
    return ValueError(f"{path}:{line}: {reason}")


def parsed(
    path: str | Path, items: Iterable[tuple[int, T]], parse: Callable[[T], R | None]
) -> list[R]:
    """What `parse` makes of numbered items, without `None`; its errors get their line."""
    found = []
    for number, item in items:
        try:
            found.append(parse(item))
        except ValueError as error:
            raise malformed(path, number, str(error)) from None
    return [made for made in found if made is not None]


def table_rows(
    path: str | Path, columns: Sequence[str]
) -> Iterator[tuple[int, list[str]]]:
    """The number and the chosen columns of each line; the first one names the columns."""
    rows = tab_rows(path)
    _, names = next(rows, (1, []))
    if missing := [name for name in columns if name not in names]:
        reason = f"columns {', '.join(columns)}, separated by tabs, are expected. "
        raise malformed(path, 1, f"{reason}Missing: {', '.join(missing)}")
    places = [names.index(name) for name in columns]
    return ((number, [fields[i] for i in places]) for number, fields in rows)


def tab_rows(
    path: str | Path, n_fields: int | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The number and the fields of each line, as many as given or as in the first one."""
    for number, line in numbered_lines(path):
        fields = line.split("\t")
        n_fields = n_fields or len(fields)
        if len(fields) != n_fields:
            reason = f"{n_fields} fields separated by tabs are expected, not "
            raise malformed(path, number, reason + str(len(fields)))
        yield number, fields


def decoded_json(path: str | Path, line: int, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"JSON is expected. Column {error.colno}: {error.msg}"
        raise malformed(path, line + error.lineno - 1, reason) from None
    except RecursionError:
        raise malformed(path, line, "the JSON has too many nested brackets") from None
