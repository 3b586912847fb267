"""Optional packages: how to install them, and errors that say that one is missing."""

import importlib
import importlib.util
from typing import Any

SOURCE = "git+https://github.com/elmo-keras/elmo-keras"
# Package → the extra of elmo-keras that installs it.
EXTRAS = {
    "aiohttp": "serve",
    "faiss": "index",
    "grpc": "serve",
    "grpc_health": "serve",
    "huggingface_hub": "hub",
    "matplotlib": "tasks",
    "orjson": "serve",
    "prometheus_client": "serve",
    "pyarrow": "parquet",
    "ray": "ray",
    "scipy": "tasks",
    "sklearn": "sklearn",
    "spacy": "spacy",
    "tensorflow_serving": "export",  # `serve` contains it
    "tensorflow_text": "text",
}


def how_to_install(extra: str) -> str:
    """The command that installs an extra of the package."""
    return f"pip install 'elmo-keras[{extra}] @ {SOURCE}'"


def needs_tensorflow(name: str) -> str:
    """A sentence for those who installed the package without TensorFlow."""
    return f"{name} needs TensorFlow: pip install {SOURCE}"


def import_extra(module: str, needed_by: str) -> Any:
    """A module of `EXTRAS`; the error says what needs it and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        advice = how_to_install(EXTRAS[package])
        raise ImportError(f"{needed_by} needs {package}: {advice}") from error


def missing_packages(*extras: str) -> str:
    """A sentence that names all missing packages of extras; empty if there are none."""
    names = [name for name, extra in EXTRAS.items() if extra in extras]
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    return f"This needs {', '.join(missing)}: {how_to_install(extras[0])}"
