"""Garbage collection, paused while large packages are imported."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Objects made in this block are not searched for garbage; after it they count as old.

    Importing TensorFlow and Keras makes half a million, most of which stay, and searching
    them again and again takes a fifth of the time. A collector that is off stays off.
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
