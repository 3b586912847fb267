"""Types of the commands' options: a value in a range, or a message that says which."""

import math
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number


def _check_finite(_, value):
    for number in value if isinstance(value, list) else [value]:
        if number is not None and not math.isfinite(number):
            raise ValueError(f"Must be finite. Received: {number}")


def _check_layer(_, layer):
    if isinstance(layer, int) and layer < 0:
        raise ValueError("The index of a layer must be >= 0.")


def _parse_int(_, tokens):
    return int(tokens[0].value)  # cyclopts would round 1.5


def _split_at_commas(_, tokens) -> list[float]:
    return [float(number) for number in tokens[0].value.split(",")]


Count = Annotated[int, Parameter(converter=_parse_int, validator=Number(gte=1))]
Index = Annotated[int, Parameter(converter=_parse_int, validator=Number(gte=0))]
Positive = Annotated[float, Parameter(validator=(Number(gt=0), _check_finite))]
NonNegative = Annotated[float, Parameter(validator=(Number(gte=0), _check_finite))]
Finite = Annotated[float, Parameter(validator=_check_finite, allow_leading_hyphen=True)]
Rate = Annotated[float, Parameter(validator=(Number(gte=0, lt=1), _check_finite))]
Share = Annotated[float, Parameter(validator=(Number(gt=0, lte=1), _check_finite))]
Seconds = Annotated[
    float, Parameter(validator=(Number(gte=0, lte=86400), _check_finite))
]
Seed = Annotated[
    int, Parameter(converter=_parse_int, validator=Number(gte=0, lt=2**32))
]
Port = Annotated[
    int, Parameter(converter=_parse_int, validator=Number(gte=0, lt=2**16))
]

# Several values after one option, as in `--heldout a.txt b.txt`.
Texts = Annotated[list[str], Parameter(consume_multiple=True)]

Layers = Annotated[
    Literal["mix", "average", "top", "all"] | int, Parameter(validator=_check_layer)
]
OneLayer = Annotated[
    Literal["mix", "average", "top"] | int, Parameter(validator=_check_layer)
]
Mix = Annotated[
    list[float],
    Parameter(
        converter=_split_at_commas,
        validator=_check_finite,
        n_tokens=1,
        allow_leading_hyphen=True,
    ),
]
