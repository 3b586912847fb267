"""Checks before the work of a command: its outputs can be written and replace no input."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from elmo_keras.base.files import left_overs, temporary_path
from elmo_keras.commands.command import DISK_ERRORS


def check_apart(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuses outputs that are an input, lie in one or hold one.

    Paths are compared as the files that they lead to: by symbolic links, hard links,
    `..` and other spellings too. Outputs may be missing.
    """
    inputs = list(inputs)
    for output in outputs:
        for written in (output, *left_overs(output)):
            for read in inputs:
                _check_pair(written, read)


def _check_pair(output, read):
    written, real = Path(os.path.realpath(output)), Path(os.path.realpath(read))
    both = os.path.exists(output) and os.path.exists(read)
    same_file = both and os.path.samefile(output, read)
    if written == real or same_file:
        same = "" if str(output) == str(read) else f"; it is the same file as {read}"
        problem = f"is an input{same}"
    elif real in written.parents:
        problem = f"is in {read}, which is an input"
    elif written in real.parents:
        problem = f"holds the input {read}"
    else:
        return
    raise ValueError(f"The output {output} {problem}. Give another output.")


def check_file(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuses a path at which no file can be written, or that would change an input.

    It does not make the folder.
    """
    check_apart([path], inputs)
    if path.is_dir():
        raise ValueError(f"{path} should be a file, but is a folder. Name a file.")
    if not os.path.lexists(path.parent):
        raise ValueError(f"There is no folder {path.parent} for {path}. Make it first.")
    check_folder(path.parent)
    _check_name(temporary_path(path))  # no other file has a longer name


def check_new_file(path: Path, inputs: Iterable[Path] = ()) -> None:
    check_file(path, inputs)
    if path.exists():
        raise ValueError(f"{path} exists already. Give another output.")


def check_folder(path: Path) -> None:
    """Refuses a path at which no folder can be made, with parents, or written to."""
    existing = next(p for p in (path, *path.absolute().parents) if os.path.lexists(p))
    if not existing.is_dir():
        needed = "" if existing == path else f" for {path}"
        raise ValueError(
            f"{existing} should be a folder{needed}, but is none. Give another output."
        )
    _check_name(path)
    try:
        tempfile.TemporaryFile(dir=existing).close()
    except OSError as error:
        if error.errno in DISK_ERRORS:
            raise
        raise ValueError(
            f"Nothing can be written to the folder {existing}: {error.strerror}. Give "
            "another output."
        ) from error


def _check_name(path):
    try:
        path.lstat()
    except FileNotFoundError:
        pass
    except OSError as error:  # such as a name that is too long
        raise ValueError(f"{path} can't be written: {error.strerror}.") from error
