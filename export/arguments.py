"""Numbers on the command line of the server and the client."""

import argparse


def port(text: str) -> int:
    """A number of a port."""
    if not text.isdecimal() or int(text) >= 2**16:
        raise argparse.ArgumentTypeError(f"should be 0 to 65535. Received: {text}")
    return int(text)


def whole(text: str) -> int:
    """A whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"should be 0 or more. Received: {text}")
    return int(text)


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"should be 1 or more. Received: {text}")
    return int(text)


def seconds(text: str) -> float:
    """A time of 0 to a day."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 86400:
        raise argparse.ArgumentTypeError(f"should be seconds. Received: {text}")
    return value
