"""The console command `elmo-keras NAME`, which runs the module of a command."""

import ast
import importlib.metadata
import os
import runpy
import sys
from pathlib import Path

from elmo_keras.util.command import (
    INTERRUPTED,
    WRONG_INPUT,
    fail,
    import_problem,
    print_anything,
)
from elmo_keras.util.completion import complete
from elmo_keras.util.quiet_import import quiet_tensorflow

MODULES = {
    "models": "hub",
    "train": "train",
    "embed": "embed",
    "export": "export",
    "serve": "serve",
    "client": "serve.client",
    "tag": "tasks.tag",
    "classify": "tasks.classify",
    "entail": "tasks.entail",
    "similarity": "tasks.similarity",
    "answer": "tasks.answer",
    "coreference": "tasks.coreference",
    "compare": "analyses.compare",
    "layer-weights": "analyses.layer_weights",
    "probe": "analyses.probe",
    "senses": "analyses.senses",
    "search": "analyses.search",
    "neighbors": "analyses.neighbors",
    "score": "analyses.score",
    "substitutes": "analyses.substitutes",
}
EXTRAS = {"train": "train", "serve": "serve", "tasks": "tasks", "analyses": "tasks"}


def main() -> int:
    print_anything()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks
        complete(MODULES)
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("--help", "-h"):
        print(listing())
        return 0
    if name == "--version":
        print(importlib.metadata.version("elmo-keras"))
        return 0
    if name not in MODULES:
        error = f"there is no command {name}. Known: {', '.join(MODULES)}"
        return fail("elmo-keras", WRONG_INPUT, error)
    sys.argv[:2] = [f"elmo-keras {name}"]  # for the command's usage line
    quiet_tensorflow()
    try:
        runpy.run_module(f"elmo_keras.{MODULES[name]}", run_name="__main__")
    except KeyboardInterrupt:
        return fail("elmo-keras", INTERRUPTED, "Interrupted.")
    except ImportError as error:
        problem = import_problem(error)
        if problem != str(error):
            return fail("elmo-keras", WRONG_INPUT, problem)
        extra = EXTRAS.get(MODULES[name].split(".")[0])
        missing = isinstance(error, ModuleNotFoundError)
        if extra is None or not missing or error.name.startswith("elmo_keras"):
            raise
        needed = f"{name} needs {error.name}: pip install 'elmo-keras[{extra}]'"
        return fail("elmo-keras", WRONG_INPUT, needed)
    return 0


def listing() -> str:
    """All commands, each with the first line of its module's docstring."""
    lines = ["usage: elmo-keras NAME …", ""]
    for name, module in MODULES.items():  # which are read without importing them
        folders = sys.modules["elmo_keras"].__path__
        paths = [Path(folder, *module.split(".")) for folder in folders]
        files = [f for p in paths for f in (p / "__main__.py", p.with_suffix(".py"))]
        path = next(file for file in files if file.exists())
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        lines.append(f"  {name:13} {text.splitlines()[0]}")
    lines += ["", "`elmo-keras NAME --help` lists a command's options."]
    return "\n".join(lines)
