"""A note at the end of a file, so that both are replaced together.

Readers that begin at the start of a file, and know where its content ends, ignore it.
"""

import json
from pathlib import Path
from typing import Any

MARK = b"elmo_keras note\n"
LENGTH_BYTES = 8
MAX_BYTES = 2**26


def add_note(path: Path, note: dict[str, Any]) -> None:
    """Adds a note of JSON values to a file that has none."""
    content = json.dumps(note).encode()
    with path.open("ab") as file:
        file.write(content + len(content).to_bytes(LENGTH_BYTES) + MARK)


def note_of(path: Path) -> dict[str, Any]:
    """The note at the end of a file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it doesn't end in a note.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - LENGTH_BYTES - len(MARK)))
        length, mark = file.read(LENGTH_BYTES), file.read()
        length = int.from_bytes(length)
        start = size - LENGTH_BYTES - len(MARK) - length
        if mark == MARK and length <= MAX_BYTES and start >= 0:
            file.seek(start)
            note = json.loads(file.read(length))
            if isinstance(note, dict):
                return note
    raise ValueError(f"{path} is damaged, or another kind of file.")
