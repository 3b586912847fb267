"""Public names of a package that are imported with their first use.

TensorFlow and Keras take seconds, and what reads a model by LiteRT needs neither.
"""

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from (\S+) import \(?\s*(\w+) as ", re.M)


def attach(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """`__getattr__` and `__all__` of a package's `__init__.py`, from the stub beside it.

    The stub has a line `from MODULE import NAME as NAME` for each name, as type checkers
    read it.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    modules = {name: module for module, name in _IMPORT.findall(stub)}

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if modules[name] == package:
                return importlib.import_module(f"{package}.{name}")
            value = getattr(importlib.import_module(modules[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in ("keras", "tensorflow"):
                raise
            from elmo_keras.base.extras import needs_tensorflow

            raise ImportError(needs_tensorflow(f"`{name}`")) from error
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, sorted(modules)
