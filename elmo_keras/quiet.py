"""What libraries in C++ log, kept from standard error: nothing that a user can act on."""

import contextlib
import gc
import os
import sys
import tempfile
import threading
from collections.abc import Iterator

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"  # whoever sets it sees what TensorFlow logs
_lock = threading.RLock()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps from standard error what is written to it within, unless that fails."""
    if os.environ.setdefault(LOG_LEVEL, "3") != "3":
        yield
        return
    with _lock, tempfile.TemporaryFile() as log:
        stderr = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception:
            log.seek(0)
            os.write(stderr, log.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


@contextlib.contextmanager
def quiet_import() -> Iterator[None]:
    """Surrounds an import that may be TensorFlow's first one, which logs a dozen lines.

    Searching its new objects for garbage would take a fifth of the time.
    """
    if "tensorflow" in sys.modules:
        yield
        return
    collects = gc.isenabled()
    gc.disable()
    try:
        with quiet():
            yield
    finally:
        if collects:
            gc.enable()
