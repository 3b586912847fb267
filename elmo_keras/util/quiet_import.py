"""Commands don't show what TensorFlow logs while it is imported."""

import functools
import os
import sys
import tempfile
from importlib.machinery import ModuleSpec, PathFinder

LEVEL = "TF_CPP_MIN_LOG_LEVEL"  # whoever sets it sees what TensorFlow logs


class QuietTensorFlow:
    """A finder of `sys.meta_path`."""

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == "tensorflow" else None
        if spec:
            execute = functools.partial(_quietly, spec.loader.exec_module)
            spec.loader.exec_module = execute
        return spec


def _quietly(execute, module):
    """Runs a module; its standard error is shown only if that fails."""
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)  # the first lines come before TensorFlow reads LEVEL
        try:
            execute(module)
        except Exception:
            log.seek(0)
            os.write(stderr, log.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def quiet_tensorflow() -> None:
    if LEVEL not in os.environ and sys.stderr:
        os.environ[LEVEL] = "3"
        sys.meta_path.insert(0, QuietTensorFlow)
