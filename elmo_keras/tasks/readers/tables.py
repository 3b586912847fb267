"""Columns of data files with tabs between them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from elmo_keras.tasks.readers.lines import malformed, numbered_lines


def table_rows(
    path: str | Path, columns: Sequence[str]
) -> Iterator[tuple[int, list[str]]]:
    """Chosen columns of a table whose first line names its columns.

    Args:
        path: the file; quotation marks are text like any other.
        columns: names of the columns that are wanted, in this order.

    Yields:
        The line's number and these fields.

    Raises:
        OSError: the file can't be read.
        ValueError: a column is missing, or a line has more or fewer fields than the
            first one: `file:line:` and what is wrong there.
    """
    lines = numbered_lines(path)
    _, header = next(lines, (1, ""))
    names = header.split("\t")
    if missing := [name for name in columns if name not in names]:
        wanted, missing = ", ".join(columns), ", ".join(missing)
        reason = (
            f"columns named {wanted} are expected, tabs between. Missing: {missing}"
        )
        raise malformed(path, 1, reason)
    places = [names.index(name) for name in columns]
    for number, line in lines:
        fields = split_line(path, number, line, len(names))
        yield number, [fields[i] for i in places]


def split_line(path: str | Path, number: int, line: str, n_fields: int) -> list[str]:
    """The fields of a line, so many as are expected.

    Raises:
        ValueError: `file:line:` and how many there are.
    """
    fields = line.split("\t")
    if len(fields) != n_fields:
        reason = f"{n_fields} fields with tabs between are expected, not {len(fields)}"
        raise malformed(path, number, reason)
    return fields
