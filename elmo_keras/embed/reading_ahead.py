"""Reads ahead: the next item is made while the one before it is used."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def reading_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items; a thread makes each while the one before it is used.

    Args:
        items: must not hold None.
    """
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item
