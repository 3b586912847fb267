"""Keeps logs of C++ libraries from standard error: no user can act on them."""

import contextlib
import gc
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator

# Lines of TensorFlow, of LiteRT, and of absl before it is initialised.
_LOGGED = re.compile(
    rb"^(?:[IWE][0-9]{4} |WARNING: All log|To enable the following|INFO: ).*\n?", re.M
)
LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"  # whoever sets it sees what TensorFlow logs
_lock = threading.RLock()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps from standard error what libraries log within, unless that fails.

    What others write, such as another thread, comes after it.
    """
    if os.environ.setdefault(LOG_LEVEL, "3") != "3":
        yield
        return
    with _lock, tempfile.TemporaryFile() as log:
        stderr, hidden = os.dup(2), re.compile(b"(?!)")
        os.dup2(log.fileno(), 2)
        try:
            yield
            hidden = _LOGGED
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            log.seek(0)
            os.write(2, hidden.sub(b"", log.read()))


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
