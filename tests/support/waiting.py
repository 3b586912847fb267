"""Waiting for something that happens in another thread."""

import time
from collections.abc import Callable

PATIENCE = 300.0  # seconds: on a busy machine, almost everything takes long


def wait_until(condition: Callable[[], object]) -> None:
    """Returns as soon as `condition()` is true; fails after `PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)
