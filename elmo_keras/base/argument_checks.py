"""Checks of the arguments of constructors: a ValueError names the argument."""

import dataclasses
import re
import reprlib
import sys
import types
import typing
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
MAX_SIZE = 2**31 - 1  # the largest dimension
MAX_FLOAT = 3e38  # the largest float32 is 3.4e38

_REPR = reprlib.Repr()
_REPR.maxlevel = 4
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = 50
_REPR.maxstring = _REPR.maxother = 200
MAX_LENGTH = 2000


def is_count(value: Any, least: int, most: int) -> bool:
    """Whether a value is an integer within these bounds, and no boolean."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return least <= int(value) <= most


def check_counts(least: int = 1, most: int = MAX_SIZE, **values: Any) -> None:
    expected = f"an integer from {least} to {most}"
    _check(values, lambda value: is_count(value, least, most), expected)


def check_numbers(
    least: float = -MAX_FLOAT, most: float = MAX_FLOAT, **values: Any
) -> None:
    expected = f"a number from {least:g} to {most:g}"
    _check(values, lambda v: _is_number(v) and least <= v <= most, expected)


def check_clips(**values: Any) -> None:
    def is_clip(v):
        return v is None or (_is_number(v) and 0 < v <= MAX_FLOAT)

    _check(values, is_clip, "None or above 0")


def check_choices(choices: Sequence[Any], **values: Any) -> None:
    _check(values, lambda v: v in choices, f"one of {choices}")


def check_literals(instance: Any) -> None:
    """Refuses values of a dataclass that its fields, each one a `Literal`, don't list."""
    for name, hint in typing.get_type_hints(type(instance)).items():
        if typing.get_origin(hint) is typing.Literal:
            check_choices(typing.get_args(hint), **{name: getattr(instance, name)})


def check_names(**values: Any) -> None:
    """Refuses anything but a list of different names, such as a string."""
    expected = "a list of one or more names, each once"

    def are_names(v):
        return np.ndim(v) == 1 and 0 < len(v) == len({*v}) and "" not in v

    _check(values, are_names, expected)


# Characters that a terminal obeys, that end a line, or that UTF-8 lacks.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_lines(**values: Sequence[str]) -> None:
    """Refuses strings that lines and columns of text can't hold."""
    for name, strings in values.items():
        for text in filter(_CONTROL.search, map(str, strings)):
            expected = "one line without tabs and control characters"
            raise ValueError(f"`{name}` should be {expected}. Received: {text!r:.200}")


def check_labels(**values: Any) -> None:
    """Refuses bad names of labels, see `check_names` and `check_lines`."""
    check_names(**values)
    check_lines(**values)


def check_finite(name: str, values: Any, rank: int = 0) -> None:
    """Refuses anything but numbers, or lists of numbers, that float32 can hold."""
    array = np.asarray(values)
    received = f"Received: {array.tolist()!s:.200}"
    if array.dtype.kind not in "iuf" or array.ndim != rank:
        raise TypeError(
            f"{name} should be {'numbers' if rank else 'a number'}. {received}"
        )
    if not (np.abs(array) <= np.finfo(np.float32).max).all():
        raise ValueError(f"{name} should be finite in float32. {received}")


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _check(values, is_right, expected):
    for name, value in values.items():
        if not is_right(value):
            raise ValueError(f"`{name}` should be {expected}. Received: {value!r:.200}")


def shortened(value: object) -> str:
    """`repr(value)`, which is cut if it is very long or deep."""
    text = _REPR.repr(value)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"


def warn(message: str) -> None:
    """Warns at the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame and frame.f_globals.get("__name__", "").startswith("elmo_keras"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def from_json(cls: type[T], values: Any) -> T:
    """An instance of a dataclass from an object of JSON.

    Raises:
        ValueError: a field is missing, unknown, or of another type than it is annotated.
    """
    hints = typing.get_type_hints(cls)
    if not isinstance(values, Mapping):
        raise ValueError(f"An object is expected, not {shortened(values):.80}")
    if unknown := sorted(values.keys() - hints.keys()):
        raise ValueError(f"`{unknown[0]}` is not known: another version saved it.")
    for name, value in values.items():
        if not _has_type(value, hints[name]):
            hint = hints[name]
            expected = hint.__name__ if isinstance(hint, type) else hint
            raise ValueError(
                f"`{name}` should be {expected}. Received: {shortened(value):.80}"
            )
    fields: Any = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    for field in fields:
        if field.name not in values and field.default is dataclasses.MISSING:
            raise ValueError(f"`{field.name}` is missing: another version saved it.")
    return cls(**values)


def _has_type(value, expected):
    """Whether a value of JSON is of an annotated type: plain, `X | None`, list or dict."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if expected is Any:
        return True
    if origin is types.UnionType:
        return any(_has_type(value, hint) for hint in inner)
    if origin is list:
        return isinstance(value, list) and all(_has_type(v, *inner) for v in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _has_type(v, inner[1]) for v in value.values()
        )
    if expected is float:
        return _is_number(value)
    return type(value) is (type(None) if expected is None else expected)
