"""Shared parts of the readers of labelled files: lines, blocks, tables, errors with file and line.

Files are UTF-8, plain or gzipped. A `ValueError` about a line begins with `FILE:LINE: `.
"""

import codecs
import csv
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from elmo_keras.base.argument_checks import shortened
from elmo_keras.text.files import GZIP_ERRORS, lines_of, unzipped

T = TypeVar("T")
R = TypeVar("R")
# Rows with the numbers of their lines, or with other names for errors.
Rows = Iterable[tuple[int | str, Any]]
HELD_OUT_RUNS = 4
JSON_SUFFIXES = ".json", ".jsonl", ".ndjson"
SPACES = " \t"  # separate columns; a word may hold other white space


def is_json(path: str | Path) -> bool:
    """Whether the name of a file says that it holds JSON, plain or gzipped."""
    return any(suffix in Path(path).suffixes for suffix in JSON_SUFFIXES)


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a file without line ends, numbered from 1.

    Lines of spaces and tabs at the end of the file are left out.
    """
    with Path(path).open("rb") as file:
        yield from _number_lines(file, path)


def _number_lines(file, path):
    empty = []
    for line_number, content in enumerate(lines_of(file, path), 1):
        line = content.decode().rstrip("\r\n")
        empty.append((line_number, line))
        if line.strip(SPACES):
            yield from empty
            empty.clear()


def blocks(path: str | Path) -> Iterator[list[tuple[int, str]]]:
    """Groups of lines between empty ones: sentences, in most column formats."""
    lines = numbered_lines(path)
    for filled, block in itertools.groupby(lines, lambda x: bool(x[1].strip(SPACES))):
        if filled:
            yield list(block)


def column_names(sentences: Iterable[Iterable[tuple[int, str]]]) -> list[str]:
    """The names of the columns of CoNLL-U Plus, in its first line; [] without them."""
    _, first = next((line for block in sentences for line in block), (1, ""))
    mark = "# global.columns ="
    return first.removeprefix(mark).split() if first.startswith(mark) else []


def malformed(path: str | Path, line: int | str, reason: object) -> ValueError:
    return ValueError(f"{path}:{line}: {reason}")


def parse_all(
    path: str | Path,
    lines: Iterable[tuple[int | str, T]],
    parse: Callable[[T], R | None],
) -> list[R]:
    """The results of `parse` for lines, without `None`; its errors name file and line."""
    results = []
    for line_number, line in lines:
        try:
            results.append(parse(line))
        except (TypeError, ValueError) as error:
            raise malformed(path, line_number, error) from None
    return [result for result in results if result is not None]


def read_rows(path: str | Path) -> Iterator[tuple[int | str, dict[str, Any]]]:
    """The rows of a table as dicts, with their lines, or their indices in a list.

    A file of JSON holds a list of objects, or objects in lines or over several lines each;
    `["text", {…}]`, as spaCy 2 has it, is an object with this `text`. In other files the
    first line names the columns, separated by tabs, or by commas as in CSV.
    """
    with Path(path).open("rb") as file:
        text = _json_text(file, path)
        yield from _table_rows(file, path) if text is None else _json_rows(text, path)


def _json_text(file, path) -> str | None:
    """The text of a file that begins with `[` or `{`, a list or an object of JSON."""
    try:
        content: Any = unzipped(file)
        start = content.peek(99)[:99].removeprefix(codecs.BOM_UTF8).lstrip()
        if start[:1] in (b"{", b"["):
            return content.read().decode("utf-8-sig")
    except (UnicodeDecodeError, *GZIP_ERRORS) as error:
        raise ValueError(f"{path} should be a file of JSON. {error}") from None
    if content is not file:
        file.seek(0)
    return None


def _json_rows(text, path):
    rows, end, counted, line = [], 0, 0, 1
    while match := _NO_SPACE.search(text, end):
        begin = match.start()
        line, counted = line + text.count("\n", counted, begin), begin
        value, end = _decode(text, begin, path, line)
        rows.append((line, value))
    if len(rows) == 1 and isinstance(rows[0][1], list) and not _is_pair(rows[0][1]):
        rows = [(f"element {i}", value) for i, value in enumerate(rows[0][1], 1)]
    for line, value in rows:
        if _is_pair(value):
            value = {"text": value[0], **value[1]}
        if not isinstance(value, dict):
            reason = f"an object is expected, not {shortened(value):.80}"
            raise malformed(path, line, reason)
        yield line, value


_NO_SPACE = re.compile(r"[^ \t\r\n]")


def _decode(text, begin, path, line):
    """The value at a position, and its end."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, begin)
        if "\\ud" in text[begin:end].lower():  # half of a pair is no text
            json.dumps(value, ensure_ascii=False).encode()
        return value, end
    except RecursionError:
        raise malformed(path, line, "JSON should not be nested so deeply") from None
    except ValueError as error:
        raise malformed(path, line, f"JSON is expected. {error}") from None


def _is_pair(value):
    return isinstance(value, list) and [*map(type, value)] == [str, dict]


def _table_rows(file, path):
    lines = _number_lines(file, path)
    _, head = next(lines, (1, ""))
    rows, names = ((n, line.split("\t")) for n, line in lines), head.split("\t")
    if len(names) == 1:
        rows = _csv_rows(path, itertools.chain([(1, head)], lines))
        _, names = next(rows, (1, names))
    for line, cells in rows:
        if len(cells) != len(names):
            reason = f"{len(names)} columns are expected ({', '.join(names)}), not "
            raise malformed(path, line, f"{reason}{len(cells)}")
        yield line, dict(zip(names, cells))


def _csv_rows(path, lines):
    """Rows whose quoted cells may have line ends; a row has the number of its last line."""
    reader = csv.reader((f"{line}\n" for _, line in lines), strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise malformed(path, reader.line_num, error) from None


def read_strings(
    row: Mapping[str, Any], name: str, beside: str | None = None
) -> list[str]:
    """The list of strings in a field of a row, as long as that in the field `beside`."""
    values = row.get(name)
    is_list = isinstance(values, list)
    if not is_list or not all(isinstance(x, str) and x for x in values):
        received = shortened(values)
        raise ValueError(f"`{name}` should be a list of str, not {received:.80}")
    if beside is not None and len(values) != len(row[beside]):
        raise ValueError(f"there should be as many {name} as {beside}")
    return values


CONLLU_ID = re.compile(r"\d{1,9}([-.]\d{1,9})?")


def conllu_columns(line: str) -> list[str]:
    """The ten columns of a line; the first one of a comment is `#`."""
    if line[0] == "#":
        return ["#"]
    columns = line.split("\t")
    if (n := len(columns)) != 10:
        raise ValueError(f"10 columns separated by tabs are expected, not {n}")
    if not CONLLU_ID.fullmatch(columns[0]):
        raise ValueError(f"the first column should be a number, not {columns[0]!r}")
    return columns


def check_any(path: str | Path, examples: list[dict]) -> list[dict]:
    if not examples:
        raise ValueError(f"{path} holds no example.")
    return examples


def hold_out(examples: Sequence[T], share: float) -> tuple[list[T], list[T]]:
    """Splits off a share: a few long runs of neighbours, often of one document each."""
    size = max(1, round(len(examples) * share / HELD_OUT_RUNS))
    block = np.arange(len(examples)) // size
    is_dev = np.floor((block + 1) * share) > np.floor(block * share)
    train = [example for example, held_out in zip(examples, is_dev) if not held_out]
    return train, [example for example, held_out in zip(examples, is_dev) if held_out]
