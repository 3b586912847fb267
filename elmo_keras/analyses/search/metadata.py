"""What a file of vectors, or an index, was made from: FILE.json beside it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_keras.config import read_options
from elmo_keras.files import OtherRun, check_same_run, replacing

ADVICE = "--overwrite makes it anew."


def metadata_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")


def write_metadata(file: Path, metadata: Mapping[str, Any]) -> None:
    with replacing(metadata_file(file)) as path:
        path.write_text(json.dumps(metadata))


def read_metadata(file: Path) -> dict[str, Any]:
    if not metadata_file(file).exists():
        raise OtherRun(
            f"{metadata_file(file)}, which says what {file} was made from, is missing. "
            f"{ADVICE}"
        )
    return read_options(metadata_file(file))


def check_metadata(file: Path, made_from: Mapping[str, Any]) -> None:
    """Refuses a file that was made from something else than its metadata says."""
    metadata = read_metadata(file)
    then = {name: metadata.get(name) for name in made_from}
    check_same_run(made_from, then, file, ADVICE)
