"""Garbage collection, paused while large packages are imported."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Objects made in this block are not searched for garbage; after it they count as old.

    Searching those of TensorFlow and Keras takes a fifth of the time to import them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():  # nobody else's objects are kept apart
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()
