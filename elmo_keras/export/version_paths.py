"""The paths of a version, checked before a model is read and exported."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from elmo_keras.commands.outputs import check_apart, check_folder
from elmo_keras.formats.options import read_options

MODEL_NAME = "elmo"
EXTRA = "assets.extra"  # all loaders ignore this folder
SERVING_FILES = "serving"  # TensorFlow Serving ignores names that are not numbers
METADATA = "elmo_keras.json"
WARM_UP = f"{EXTRA}/tf_serving_warmup_requests"
MAX_VERSION = 10**18 - 1  # TensorFlow Serving counts in int64
_NUMBER = re.compile("[0-9]{1,18}")  # `isdecimal` takes other digits too
_NUMBERED = re.compile(rf"([0-9]{{1,18}})|{MODEL_NAME}-([0-9]{{1,18}})\.tar\.gz")


def new_version(output: Path, version: int | None) -> Path:
    """The path of a version that is to be written, which does not exist yet."""
    if version is None:
        matches = [_NUMBERED.fullmatch(path.name) for path in output.glob("*")]
        version = max((int(m[1] or m[2]) for m in matches if m), default=0) + 1
    if version > MAX_VERSION:
        raise ValueError(
            "A version should have at most 18 digits, as TensorFlow Serving counts in "
            f"int64. Received: {version}. Give a smaller --version."
        )
    path = output / str(version)
    if path.exists():  # a rename would replace an empty folder
        raise FileExistsError(
            f"The version {path} exists, and none is ever overwritten. Give another "
            "--version, or leave it out for the next number."
        )
    return path


def versions(output: str | Path) -> list[int]:
    """The numbers of the versions in a folder, from lowest to highest.

    A number of more than 18 digits is no version. A broken link is one: its target may
    appear later.
    """
    paths = [path for path in Path(output).iterdir() if _NUMBER.fullmatch(path.name)]
    return sorted(int(p.name) for p in paths if p.is_dir() or p.is_symlink())


def export_metadata(version: str | Path) -> dict[str, Any]:
    """The description that an export holds; empty for another SavedModel."""
    path = Path(version) / EXTRA / METADATA
    return read_options(path) if path.exists() else {}


def archive_path(version: Path) -> Path:
    return version.with_name(f"{MODEL_NAME}-{version.name}.tar.gz")


def check_export(
    output: Path,
    version: int | None,
    inputs: Iterable[Path],
    archive: bool,
    serving_files: bool,
) -> None:
    check_folder(output)
    written = [new_version(output, version)]
    if archive:
        written.append(archive_path(written[0]))
        if written[1].exists():
            raise FileExistsError(
                f"{written[1]} exists, and no archive is overwritten. Move it, or give "
                "another --version."
            )
    if serving_files:
        written.append(output / SERVING_FILES)
        check_folder(output / SERVING_FILES)
    check_apart(written, inputs)
