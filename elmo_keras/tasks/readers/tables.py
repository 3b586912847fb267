"""Tables: data files of columns separated by tabs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from elmo_keras.tasks.readers.lines import malformed, numbered_lines


def table_rows(
    path: str | Path, columns: Sequence[str]
) -> Iterator[tuple[int, list[str]]]:
    """Chosen columns of a table whose first line names its columns.

    Args:
        path: the file; quotation marks have no special meaning.
        columns: names of the columns.

    Yields:
        The number of a line, and its fields in the order of `columns`.

    Raises:
        OSError: the file cannot be read.
        ValueError: a column is missing, or a line has more or fewer fields than the
            first one; the message has `file:line:` and the reason.
    """
    lines = numbered_lines(path)
    _, header = next(lines, (1, ""))
    names = header.split("\t")
    if missing := [name for name in columns if name not in names]:
        wanted, missing = ", ".join(columns), ", ".join(missing)
        reason = (
            f"columns {wanted}, separated by tabs, are expected. Missing: {missing}"
        )
        raise malformed(path, 1, reason)
    places = [names.index(name) for name in columns]
    for number, line in lines:
        fields = split_line(path, number, line, n_fields=len(names))
        yield number, [fields[i] for i in places]


def split_line(path: str | Path, number: int, line: str, *, n_fields: int) -> list[str]:
    """The fields of a line, which should have `n_fields`.

    Raises:
        ValueError: `file:line:` and the number of fields.
    """
    fields = line.split("\t")
    if len(fields) != n_fields:
        reason = f"{n_fields} fields separated by tabs are expected, not {len(fields)}"
        raise malformed(path, number, reason)
    return fields
