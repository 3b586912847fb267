"""The laws of the layout, checked in the source, and its size.

    python -m tests.support.house [CHECKOUT]

prints the numbers of a checkout. Each check is a list of the places that break a law.
"""

import ast
import collections
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

LONG_FUNCTION = 30  # lines, without the docstring
MANY_POSITIONAL = 7  # arguments of a call
POSITIONAL = 3  # parameters that may be given by position
# Who imports whom: a room imports only rooms that come later. `elmo_keras` is what the
# root exports.
ROOMS = (
    {"train"},
    {"export"},
    {"elmo_keras.analyses"},
    {"elmo_keras.tasks"},
    {"elmo_keras"},
    {"elmo_keras.ray"},
    {"elmo_keras.exported_elmo"},
    {"elmo_keras.beam"},
    {"elmo_keras.embed"},
    {"elmo_keras.training"},
    {"elmo_keras.language_model"},
    {"elmo_keras.elmo"},
    {"elmo_keras.model_files"},
    {"elmo_keras.models"},
    {"elmo_keras.bilm"},
    {"elmo_keras.text"},
    {"elmo_keras.config"},
    {"elmo_keras.published_options"},
    {"elmo_keras.cli", "elmo_keras.layers"},
)
TASKS = "elmo_keras.tasks"
SHARED_BY_TASKS = {"experiments", "layers", "readers"}
# Signatures that Keras or another base class gives.
GIVEN = {
    "__exit__",
    "call",
    "compute_loss",
    "compute_mask",
    "compute_output_shape",
    "handle_error",
    "update_step",
}


class Source(NamedTuple):
    """A file of the library, the export or a program.

    Attributes:
        path: relative to the checkout.
        tree: the parsed file.
    """

    path: Path
    tree: ast.Module

    @property
    def module(self) -> str:
        """Its dotted name."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def functions(self) -> Iterator[ast.FunctionDef]:
        """All functions and methods."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def imports(self) -> set[str]:
        """Dotted names of the modules that it imports, relative ones resolved."""
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    package = self.path.parent.parts
                    package = package[: len(package) - node.level + 1]
                    base = ".".join([*package, *filter(None, [node.module])])
                found.add(base)
                found.update(f"{base}.{alias.name}" for alias in node.names)
        return found


def sources(root: Path) -> list[Source]:
    """The files of the library, the export and the programs, each once."""
    patterns = "*.py", "elmo_keras/**/*.py", "export/**/*.py"
    return [
        Source(path.relative_to(root), ast.parse(path.read_text(encoding="utf-8")))
        for path in unlinked(root, patterns)
    ]


def unlinked(root: Path, patterns: Iterable[str]) -> list[Path]:
    """Files of a checkout, without those that are reached through its links."""
    real = root.resolve()
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    return sorted(p for p in paths if p.resolve() == real / p.relative_to(root))


def length(function: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - (docstring.end_lineno - docstring.lineno + 1)


def by_position(function: ast.FunctionDef) -> list[str]:
    """Names of the parameters that may be given by position, without `self`."""
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def long_functions(files: list[Source]) -> list[str]:
    """Functions of more than `LONG_FUNCTION` lines."""
    return [
        f"{file.path}:{function.lineno} {function.name}: {length(function)} lines"
        for file in files
        for function in file.functions()
        if length(function) > LONG_FUNCTION
    ]


def positional_functions(files: list[Source]) -> list[str]:
    """Functions that take more than `POSITIONAL` parameters by position."""
    return [
        f"{file.path}:{function.lineno} {function.name}({', '.join(names)})"
        for file in files
        for function in file.functions()
        if len(names := by_position(function)) > POSITIONAL
        and function.name not in GIVEN
    ]


def positional_calls(files: list[Source]) -> list[str]:
    """Calls with `MANY_POSITIONAL` or more positional arguments."""
    return [
        f"{file.path}:{node.lineno} {ast.unparse(node.func)}"
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Call)
        and len(node.args) >= MANY_POSITIONAL
        and not any(isinstance(a, ast.Starred) for a in node.args)
    ]


def namespaces_passed(files: list[Source]) -> list[str]:
    """Functions that take the parsed command line in a file that does not parse it."""
    return [
        f"{file.path}:{function.lineno} {function.name}"
        for file in files
        if not re.search(r"attr='parse_\w*args'", ast.dump(file.tree))
        for function in file.functions()
        if _takes_command_line(function)
    ]


def _takes_command_line(function):
    """Whether a parameter is a `Namespace`, or untyped `arguments` with attributes."""
    parameters = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    annotations = [ast.unparse(p.annotation) for p in parameters if p.annotation]
    if any("Namespace" in annotation for annotation in annotations):
        return True
    untyped = {parameter.arg for parameter in parameters if not parameter.annotation}
    return "arguments" in untyped and re.search(
        r"\barguments\.\w", "\n".join(map(ast.unparse, function.body))
    )


def repeated_names(files: list[Source]) -> list[str]:
    """File names that occur more than once."""
    allowed = {"__init__", "__main__", "task"}
    places = collections.defaultdict(list)
    for file in files:
        if file.path.stem not in allowed:
            places[file.path.stem].append(str(file.path))
    return [" ".join(paths) for paths in places.values() if len(paths) > 1]


def hidden_programs(files: list[Source]) -> list[str]:
    """Files that run as a program, but are neither `__main__.py` nor `train.py`."""
    return [
        str(file.path)
        for file in files
        if "__name__ == '__main__'" in ast.unparse(file.tree)
        and file.path.name != "__main__.py"
        and file.path != Path("train.py")
    ]


def upward_imports(files: list[Source]) -> list[str]:
    """Imports from a room that comes earlier in `ROOMS`, or is on the same level."""
    found = []
    for file in files:
        own, own_level = _room(file.module)
        if own == "elmo_keras":  # which exports what others define
            continue
        for module in file.imports():
            room, level = _room(module)
            if room != own and level <= own_level:
                found.append(f"{file.path} imports {module}")
    return sorted(found)


def _room(module):
    """The room of a module, and its place in `ROOMS`; after all if it is not ours."""
    found = [
        (room, level)
        for level, rooms in enumerate(ROOMS)
        for room in rooms
        if f"{module}.".startswith(f"{room}.")
    ]
    return max(found, default=(module, len(ROOMS)), key=lambda room: len(room[0]))


def sibling_imports(files: list[Source]) -> list[str]:
    """Imports of a task in another task, or in what tasks share."""
    found = []
    for file in files:
        own = _task(file.module)
        if own is None:  # the tasks' root, or no task
            continue
        for module in file.imports() - {TASKS}:
            other = _task(module)
            if other not in {None, own, *SHARED_BY_TASKS}:
                found.append(f"{file.path} imports {module}")
    return sorted(found)


def _task(module):
    """The folder of `tasks` that a module belongs to, or None."""
    if not module.startswith(f"{TASKS}."):
        return None
    return module.removeprefix(f"{TASKS}.").split(".")[0]


def rooms_without_place(files: list[Source]) -> list[str]:
    """Modules that no entry of `ROOMS` but the root covers."""
    return [
        str(file.path)
        for file in files
        if _room(file.module)[0] in ("elmo_keras", file.module)
        and not any(file.module in rooms for rooms in ROOMS)
    ]


def mapped(text: str) -> list[str]:
    """The paths of a file map: two spaces for a level, then a name, then words."""
    paths, parents = [], []
    for line in text.splitlines():
        name = line.split()[0]
        level = (len(line) - len(line.lstrip())) // 2
        parents[level:] = [name]
        paths.append("".join(parents))
    return paths


def expected_in_map(files: list[Source]) -> set[str]:
    """What a file map should hold: programs, the root's modules, folders of two levels.

    Folders within those are described by their own README.
    """
    found = set()
    for file in files:
        *folders, name = file.path.parts
        found.update("/".join(folders[:n]) + "/" for n in (1, 2) if folders[:n])
        if len(folders) == 0 or (folders == ["elmo_keras"] and name != "__init__.py"):
            found.add(str(file.path))
    return found


def numbers(root: Path) -> dict[str, object]:
    """The numbers of a checkout by their names."""
    files = sources(root)
    folders = collections.Counter(file.path.parent for file in files)
    largest, n = folders.most_common(1)[0]
    texts = [(root / file.path).read_text(encoding="utf-8") for file in files]
    readme = (root / "README.md").read_text(encoding="utf-8")
    return {
        "lines of code": sum(text.count("\n") for text in texts),
        "files": len(files),
        "folders": len(folders),
        "largest flat folder": f"{n} files in {largest}",
        "lines of the README": readme.count("\n"),
        "functions": sum(1 for file in files for _ in file.functions()),
        f"functions over {LONG_FUNCTION} lines": len(long_functions(files)),
        f"calls with {MANY_POSITIONAL}+ positional arguments": len(
            positional_calls(files)
        ),
        f"functions with more than {POSITIONAL} positional parameters": len(
            positional_functions(files)
        ),
        "parsed command lines passed on": len(namespaces_passed(files)),
        "file names that occur twice": len(repeated_names(files)),
        "imports against the order": len(upward_imports(files)),
        "imports of a task in another": len(sibling_imports(files)),
    }


if __name__ == "__main__":
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
    for name, value in numbers(checkout).items():
        print(f"{name}: {value}")
