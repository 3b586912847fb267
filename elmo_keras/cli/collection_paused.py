"""Garbage collection, paused while large packages are imported."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Objects that are made in this block are not searched for garbage meanwhile.

    Importing TensorFlow and Keras makes half a million objects, most of which stay; the
    collector would look through them again and again, a fifth of the time. After the
    block they count as old, as if it had done so: only a full collection looks at them.
    A collector that is switched off stays so.
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
