"""Initial values of weights that are drawn at random, which takes time."""

import contextlib
import contextvars
from collections.abc import Iterator

import keras

_read_later = contextvars.ContextVar("read_later", default=False)


@contextlib.contextmanager
def values_read_later() -> Iterator[None]:
    """Weights of the layers made and built in this block are zero if random otherwise.

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
    """The initializer of a weight, or that of zeros if its values are read."""
    return "zeros" if _read_later.get() else initializer
