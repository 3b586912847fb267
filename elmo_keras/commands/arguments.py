"""Types of the commands' options: a value in a range, or a message that says which."""

import contextlib
import math
import re
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from cyclopts import CoercionError, Parameter
from cyclopts.validators import Number

N = TypeVar("N", int, float)
_INTEGER = re.compile("0|-?[1-9][0-9]*")


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("Must be an integer.")
    return int(text)


def _finite(text: str) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(text)):
            return value
    raise ValueError("Must be a finite number.")


def _numeric(read: Callable[[str], N], *words: str, **bounds: float) -> Parameter:
    """An option with one number or several, or with one of `words` in place of one.

    cyclopts itself would take 1.5 for 2, and none for None.
    """
    check = Number(**bounds)

    def convert(type_, token):
        if token.value in words:
            return token.value
        try:
            value = read(token.value)
            check(type_, value)
        except ValueError as error:
            message = f"{error} Received: {token.value}"
            if words:
                message = f"Must be {', '.join(words)}, or a number. {message}"
            raise CoercionError(msg=message, token=token) from None
        return value

    def convert_all(type_, tokens):
        values = tuple(convert(type_, token) for token in tokens)
        return values[0] if len(values) == 1 else values

    return Parameter(converter=convert_all, allow_leading_hyphen=not bounds)


def _split_at_commas(_, tokens) -> list[float]:
    text = tokens[0].value
    try:
        return [_finite(part) for part in text.split(",")]
    except ValueError as error:
        raise ValueError(f"{error} Received: {text}") from None


Count = Annotated[int, _numeric(_integer, gte=1)]
Counts = Annotated[tuple[int, int], _numeric(_integer, gte=1)]
Index = Annotated[int, _numeric(_integer, gte=0)]
Positive = Annotated[float, _numeric(_finite, gt=0)]
NonNegative = Annotated[float, _numeric(_finite, gte=0)]
Finite = Annotated[float, _numeric(_finite)]
Rate = Annotated[float, _numeric(_finite, gte=0, lt=1)]
Share = Annotated[float, _numeric(_finite, gt=0, lte=1)]
Seconds = Annotated[float, _numeric(_finite, gte=0, lte=86400)]
Seed = Annotated[int, _numeric(_integer, gte=0, lt=2**32)]
Port = Annotated[int, _numeric(_integer, gte=0, lt=2**16)]

# Words of a sentence, which may look like the address of a file.
Words = Annotated[str, Parameter(validator=lambda type_, words: None)]

# Several values after one option, as in `--heldout a.txt b.txt`.
Texts = Annotated[list[str], Parameter(consume_multiple=True)]

Layers = Annotated[
    Literal["mix", "average", "top", "all"] | int,
    _numeric(_integer, "mix", "average", "top", "all", gte=0),
]
OneLayer = Annotated[
    Literal["mix", "average", "top"] | int,
    _numeric(_integer, "mix", "average", "top", gte=0),
]
Mix = Annotated[
    list[float],
    Parameter(converter=_split_at_commas, n_tokens=1, allow_leading_hyphen=True),
]
