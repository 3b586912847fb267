"""Initial values of large weights, which take seconds to draw."""

import contextlib
import contextvars
from collections.abc import Iterator

import keras

_read_later = contextvars.ContextVar("read_later", default=False)


@contextlib.contextmanager
def values_read_later() -> Iterator[None]:
    """Large weights of the layers built in this block are zero.

    Their values are read from a file right afterwards.
    """
    token = _read_later.set(True)
    try:
        yield
    finally:
        _read_later.reset(token)


def initial(
    initializer: str | keras.initializers.Initializer,
) -> str | keras.initializers.Initializer:
    """The initializer of a large weight, or that of zeros if its values are read."""
    return "zeros" if _read_later.get() else initializer
