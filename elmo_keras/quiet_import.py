"""The import of TensorFlow without the lines that it logs."""

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Iterator

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"  # whoever sets it sees what TensorFlow logs


@contextlib.contextmanager
def quiet_import() -> Iterator[None]:
    """Surrounds an import that may be TensorFlow's first one.

    Its libraries log a dozen lines, some before they read the level; if the import fails,
    these are printed. Searching its new objects for garbage would take a fifth of the time.
    """
    if "tensorflow" in sys.modules or os.environ.setdefault(LOG_LEVEL, "3") != "3":
        yield
        return
    collects = gc.isenabled()
    gc.disable()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as log:
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
            if collects:
                gc.enable()
