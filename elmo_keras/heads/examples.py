"""Reads labelled data from files, lists, data frames and data sets."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.base.argument_checks import shortened
from elmo_keras.heads.reading import parse_all
from elmo_keras.heads.task import Task


def read_examples(task: Task, data: Any, name: str = "examples") -> list[dict]:
    """The examples of a file, or of labelled data in memory.

    Args:
        task: reads the files, and the rows.
        data: a path; a list of dicts with the fields of the kind's files of JSON; a pair of
            lists, texts and labels; a data frame of pandas or polars; a data set of
            Hugging Face, whose numbers of classes become their names.
        name: how errors call the data in memory.

    Raises:
        ValueError: an example is not as the task needs it; the message names its place.
        TypeError: the data is none of these.
    """
    if isinstance(data, (str, os.PathLike)):
        return task.read(Path(data))
    rows = [(f"row {i}", row) for i, row in enumerate(_rows(task, data, name))]
    if not rows:
        raise ValueError(f"`{name}` should hold examples. Received: none")
    parse_all(name, rows, _check_characters)
    return task.read_rows(rows, name)


def _check_characters(row):
    """Refuses half of a surrogate pair, which files can't hold either."""
    json.dumps(row, ensure_ascii=False, default=str, skipkeys=True).encode()


def _rows(task: Task, data: Any, name: str) -> list[dict]:
    if _are_columns(data):
        return _pairs(task, data, name)
    if hasattr(data, "to_dicts"):  # polars
        data = data.to_dicts()
    elif hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        data = data.to_dict("records")
    classes = _class_names(getattr(data, "features", None))
    if isinstance(data, (Mapping, bytes)) or not isinstance(data, Iterable):
        raise _type_error(name, data)
    rows = list(data)
    if not all(isinstance(row, Mapping) for row in rows):
        raise _type_error(name, data)
    return [
        {key: _plain(value, classes.get(key)) for key, value in row.items()}
        for row in rows
    ]


def _are_columns(data: Any) -> bool:
    return isinstance(data, tuple) and all(
        isinstance(x, Iterable) and not isinstance(x, (str, bytes, Mapping))
        for x in data
    )


def _pairs(task, data, name):
    """Rows of texts, or lists of tokens, and their labels."""
    columns = [_plain(list(column)) for column in data]
    sizes = [len(column) for column in columns]
    if len(sizes) != 2 or sizes[0] != sizes[1] or len(task.row_fields) > 1:
        raise ValueError(
            f"`{name}` should be a pair of texts and as many labels, or a list of dicts. "
            f"Received: lists of {sizes} items for {', '.join(task.row_fields)} and a label"
        )
    return [task.pair(*pair) for pair in zip(*columns)]


def _class_names(features) -> dict[str, Sequence[str]]:
    """Column → the names of its classes, of a data set that holds their numbers."""
    if not isinstance(features, Mapping):
        return {}
    columns = {k: getattr(f, "feature", f) for k, f in features.items()}
    names = {key: getattr(feature, "names", None) for key, feature in columns.items()}
    return {key: value for key, value in names.items() if value}


def _plain(value: Any, names: Sequence[str] | None = None) -> Any:
    """A value in types of JSON; the number of a class becomes its name."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item, names) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if names and type(value) is int:
        return names[value] if value >= 0 else None  # -1 for no label
    return value


def _type_error(name, data):
    return TypeError(
        f"`{name}` should be a path, a list of dicts, a pair of texts and labels, a data "
        f"frame or a data set. Received: {shortened(data):.200}"
    )
