"""Types for `argparse`: each parses one argument or says what was expected."""

import argparse
import math
from collections.abc import Callable


def positive(kind: type) -> Callable[[str], int | float]:
    """A number above 0, as `int` or `float`."""
    return _number(kind, "above 0", lambda value: value > 0)


def non_negative(kind: type) -> Callable[[str], int | float]:
    """A number of at least 0, as `int` or `float`."""
    return _number(kind, "0 or more", lambda value: value >= 0)


def _number(kind, expected, is_allowed):
    def parse(text):
        value = kind(text)
        if not (is_allowed(value) and value < math.inf):
            raise argparse.ArgumentTypeError(f"should be {expected}. Received: {text}")
        return value

    parse.__name__ = kind.__name__  # argparse: "invalid int value: …"
    return parse


finite_number = _number(float, "a finite number", lambda value: value > -math.inf)
rate = _number(float, "from 0 to below 1", lambda value: 0 <= value < 1)
share = _number(float, "above 0 and at most 1", lambda value: 0 < value <= 1)
seconds = _number(float, "0 to 86400 seconds", lambda value: 0 <= value <= 86400)
seed = _number(int, "from 0 to 2**32 - 1", lambda value: 0 <= value < 2**32)
port = _number(int, "a port from 0 to 65535", lambda value: 0 <= value < 2**16)


class Distinct(argparse.Action):
    """Stores the values of an option with several; each may be given only once."""

    def __call__(self, parser, namespace, values, *_):
        repeated = [str(v) for v in dict.fromkeys(values) if values.count(v) > 1]
        if repeated:
            raise argparse.ArgumentError(
                self, f"should be different. Given repeatedly: {', '.join(repeated)}"
            )
        setattr(namespace, self.dest, values)


def numbers(text: str) -> list[float]:
    return [finite_number(number) for number in text.split(",")]


def layer_or(*names: str) -> Callable[[str], str | int]:
    def parse(text):
        if text in names:
            return text
        if not text.isdecimal():
            raise argparse.ArgumentTypeError(
                f"should be {', '.join(names)} or the number of a layer, not {text}"
            )
        return int(text)

    return parse
