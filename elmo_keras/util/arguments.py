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
        if math.isfinite(number := float(text)):
            return number
    raise ValueError("Must be a finite number.")


def _number(read: Callable[[str], N], **bounds: float) -> Parameter:
    """An option with a number, or several; cyclopts would take 1.5 for 2, and none for None."""
    check = Number(**bounds)

    def convert(type_, tokens):
        numbers = []
        for token in tokens:
            try:
                numbers.append(read(token.value))
                check(type_, numbers[-1])
            except ValueError as error:
                message = f"{error} Received: {token.value}"
                raise CoercionError(msg=message, token=token) from None
        return numbers[0] if len(numbers) == 1 else tuple(numbers)

    return Parameter(converter=convert, allow_leading_hyphen=not bounds)


def _layer(*words: str) -> Parameter:
    """An option with a word, or with the index of a layer."""

    def convert(_, tokens):
        text = tokens[0].value
        if text not in words and not (_INTEGER.fullmatch(text) and int(text) >= 0):
            raise ValueError(
                f"Must be {', '.join(words)} or the index of a layer, from 0. Received: "
                f"{text}"
            )
        return text if text in words else int(text)

    return Parameter(converter=convert)


def _split_at_commas(_, tokens) -> list[float]:
    text = tokens[0].value
    try:
        return [_finite(number) for number in text.split(",")]
    except ValueError as error:
        raise ValueError(f"{error} Received: {text}") from None


Count = Annotated[int, _number(_integer, gte=1)]
Counts = Annotated[tuple[int, int], _number(_integer, gte=1)]
Index = Annotated[int, _number(_integer, gte=0)]
Positive = Annotated[float, _number(_finite, gt=0)]
NonNegative = Annotated[float, _number(_finite, gte=0)]
Finite = Annotated[float, _number(_finite)]
Rate = Annotated[float, _number(_finite, gte=0, lt=1)]
Share = Annotated[float, _number(_finite, gt=0, lte=1)]
Seconds = Annotated[float, _number(_finite, gte=0, lte=86400)]
Seed = Annotated[int, _number(_integer, gte=0, lt=2**32)]
Port = Annotated[int, _number(_integer, gte=0, lt=2**16)]

# Several values after one option, as in `--heldout a.txt b.txt`.
Texts = Annotated[list[str], Parameter(consume_multiple=True)]

Layers = Annotated[
    Literal["mix", "average", "top", "all"] | int,
    _layer("mix", "average", "top", "all"),
]
OneLayer = Annotated[
    Literal["mix", "average", "top"] | int, _layer("mix", "average", "top")
]
Mix = Annotated[
    list[float],
    Parameter(converter=_split_at_commas, n_tokens=1, allow_leading_hyphen=True),
]
