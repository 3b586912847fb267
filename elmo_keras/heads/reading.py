"""Shared parts of the readers of labelled files: lines, blocks, tables, errors with file and line.

Files are UTF-8, plain or gzipped. A `ValueError` about a line begins with `FILE:LINE: `.
"""

import csv
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from elmo_keras.text.files import GZIP_ERRORS, lines_of, unzipped

T = TypeVar("T")
R = TypeVar("R")
# Labelled things with their places: the numbers of their lines, or names.
Rows = Iterable[tuple[int | str, Any]]
HELD_OUT_RUNS = 4
JSON_SUFFIXES = ".json", ".jsonl", ".ndjson"
SPACES = " \t"  # what separates columns; a word may hold other white space


def is_json(path: str | Path) -> bool:
    """Whether the name of a file says that it holds JSON, plain or gzipped."""
    return any(suffix in Path(path).suffixes for suffix in JSON_SUFFIXES)


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a file without line ends, numbered from 1.

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
    lines = numbered_lines(path)
    for filled, block in itertools.groupby(
        lines, lambda pair: bool(pair[1].strip(SPACES))
    ):
        if filled:
            yield list(block)


def malformed(path: str | Path, line: int | str, reason: object) -> ValueError:
    return ValueError(f"{path}:{line}: {reason}")


def parse_all(
    path: str | Path,
    lines: Iterable[tuple[int | str, T]],
    parse: Callable[[T], R | None],
) -> list[R]:
    """The results of `parse` for lines, without `None`; its errors get file and line."""
    results = []
    for number, line in lines:
        try:
            results.append(parse(line))
        except ValueError as error:
            raise malformed(path, number, error) from None
    return [result for result in results if result is not None]


def read_rows(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a table as dicts, with their numbers.

    Each line is a JSON object; or the first one names the columns, which are separated by
    tabs, or by commas as in CSV.
    """
    lines = numbered_lines(path)
    _, head = next(lines, (1, ""))
    if head.startswith("{"):
        for number, line in itertools.chain([(1, head)], lines):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise malformed(path, number, f"JSON is expected. {error}") from None
            if not isinstance(row, dict):
                raise malformed(path, number, f"an object is expected, not {line[:80]}")
            yield number, row
        return
    rows = ((number, line.split("\t")) for number, line in lines)
    names = head.split("\t")
    if len(names) == 1:
        names, *_ = csv.reader([head])
        rows = _csv_rows(path, lines)
    for number, cells in rows:
        if len(cells) != len(names):
            reason = f"{len(names)} columns are expected ({', '.join(names)}), not "
            raise malformed(path, number, f"{reason}{len(cells)}")
        yield number, dict(zip(names, cells))


def _csv_rows(path, lines):
    """Rows whose quoted cells may have line ends; a row has the number of its last line."""
    reader = csv.reader((f"{line}\n" for _, line in lines), strict=True)
    try:
        for cells in reader:
            yield reader.line_num + 1, cells
    except csv.Error as error:
        raise malformed(path, reader.line_num + 1, error) from None


CONLLU_ID = re.compile(r"\d+([-.]\d+)?")


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
        raise ValueError(f"{path} holds no sentence.")
    return examples


def read_json(path: str | Path) -> Any:
    """The content of a file of JSON; of JSON lines a list."""
    with Path(path).open("rb") as file:
        try:
            return json.loads(unzipped(file).read())
        except (ValueError, *GZIP_ERRORS) as error:
            if getattr(error, "msg", "") != "Extra data":
                raise ValueError(f"{path} should be a file of JSON. {error}") from None
    return [row for _, row in read_rows(path)]


def hold_out(examples: Sequence[T], share: float) -> tuple[list[T], list[T]]:
    """Splits off a share: a few long runs of neighbours, often of one document each."""
    size = max(1, round(len(examples) * share / HELD_OUT_RUNS))
    block = np.arange(len(examples)) // size
    is_dev = np.floor((block + 1) * share) > np.floor(block * share)
    train = [example for example, held_out in zip(examples, is_dev) if not held_out]
    return train, [example for example, held_out in zip(examples, is_dev) if held_out]
