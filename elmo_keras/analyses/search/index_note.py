"""The note beside an index, INDEX.json: what the index was made from."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from elmo_keras.published_options import read_options
from elmo_keras.util.fingerprint import OtherRun, check_same_run
from elmo_keras.util.outputs import check_apart, check_file
from elmo_keras.util.replacing import replacing

ADVICE = "Ask to overwrite it, or name another."


def note_path(index: Path) -> Path:
    return index.with_name(f"{index.name}.json")


def write_note(index: Path, values: Mapping[str, Any]) -> None:
    with replacing(note_path(index)) as path:
        path.write_text(json.dumps(values))


def read_note(index: Path) -> dict[str, Any]:
    """The values; none where there is no note."""
    note = note_path(index)
    return read_options(note) if note.exists() else {}


def check_note(index: Path, made_of: Mapping[str, Any]) -> None:
    """Refuses an index that was made from something else."""
    found = read_note(index)
    if not found:
        raise OtherRun(
            f"{note_path(index)}, which says what {index} was made from, is missing. "
            f"{ADVICE}"
        )
    then = {name: found.get(name) for name in made_of}
    check_same_run(made_of, then, index, ADVICE)


def check_written(index: Path, inputs: Iterable[Path]) -> None:
    """Refuses an index that can't be written, with its note, or is an input."""
    files = index, note_path(index)
    check_apart(files, inputs)
    for file in files:
        check_file(file)


def unfinished(index: Path) -> Path:
    return index.with_name(f"{index.name}.unfinished")
