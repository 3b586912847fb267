"""The paths of a version, checked before a model is read and exported."""

import functools
import logging
import re
from collections.abc import Iterable
from pathlib import Path

from elmo_keras.util.outputs import check_apart, check_folder

LOG = logging.getLogger(__name__)
MODEL_NAME = "elmo"
EXTRA = "assets.extra"  # a folder that all loaders ignore
SERVING_FILES = "serving"  # TensorFlow Serving ignores names that are not numbers
METADATA = "elmo_keras.json"
WARM_UP = f"{EXTRA}/tf_serving_warmup_requests"
MAX_VERSION = 2**63 - 1  # TensorFlow Serving counts in int64
_NUMBER = re.compile("[0-9]+")  # `isdecimal` takes other digits too
_NUMBERED = re.compile(rf"([0-9]+)|{MODEL_NAME}-([0-9]+)\.tar\.gz")


def new_version(output: Path, version: int | None) -> Path:
    """The path of a version that is to be written, which does not exist yet."""
    if version is None:
        matches = [_NUMBERED.fullmatch(path.name) for path in output.glob("*")]
        existing = [int(match[1] or match[2]) for match in matches if match]
        version = max((v for v in existing if v <= MAX_VERSION), default=0) + 1
    if version > MAX_VERSION:
        raise ValueError(
            f"A version should be at most {MAX_VERSION}, the largest number that "
            f"TensorFlow Serving reads. Received: {version}. Give a smaller --version."
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

    A number above `MAX_VERSION` is no version; a warning names it once. A link to
    nothing is one: it may be there later.
    """
    folders = [path for path in Path(output).iterdir() if _NUMBER.fullmatch(path.name)]
    folders = [path for path in folders if path.is_dir() or path.is_symlink()]
    for path in folders:
        if int(path.name) > MAX_VERSION:
            _warn_of(path.absolute())
    return sorted(n for path in folders if (n := int(path.name)) <= MAX_VERSION)


@functools.cache
def _warn_of(path):
    LOG.warning(
        "%s is ignored: a version should be at most %d. Rename it.", path, MAX_VERSION
    )


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
