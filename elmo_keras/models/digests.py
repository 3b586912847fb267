"""Checksums of downloaded files: those that are stated, and those of the first download.

A folder's `.downloads.json` keeps the SHA-256, size and time of each of its files. The
content is read again only if size or time differ.
"""

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from elmo_keras.cli.replacing import replacing
from elmo_keras.models.published_model import RemoteFile

RECORDS = ".downloads.json"


def records(folder: Path) -> dict[str, Any]:
    """Name → `address`, `sha256`, `size` and `time` of each file of a folder."""
    try:
        content = json.loads((folder / RECORDS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def is_known(folder: Path, file: RemoteFile) -> bool:
    """Whether a file is there and unchanged, judged by its size and time."""
    path = folder / file.name
    known = records(folder).get(file.name)
    return path.exists() and known is not None and _times(path).items() <= known.items()


def check_digest(folder: Path, file: RemoteFile, path: Path) -> None:
    """Checks the content of a file, and keeps its SHA-256 if it is the first one.

    Args:
        folder: the model's folder, whose lock is held.
        file: the file.
        path: where its content is now.

    Raises:
        ValueError: the content is not the stated one, or not that of the first
            download.
    """
    stated, _, expected = file.checksum.partition(":")
    if stated and (found := _digest(path, stated)) != expected:
        raise ValueError(
            f"its {stated.upper()} should be {expected}, as its publisher states. "
            f"Found: {found}"
        )
    if file.size is not None and path.stat().st_size != file.size:
        raise ValueError(
            f"it should have {file.size:,} bytes. Found: {path.stat().st_size:,}"
        )
    digest = _digest(path, "sha256")
    kept = records(folder)
    first = kept.get(file.name, {}).get("sha256", digest)
    if first != digest:
        raise ValueError(
            f"its SHA-256 was {first} when it was first downloaded, and is now {digest}"
            f" (if its publisher has replaced it, delete {folder / RECORDS})"
        )
    kept[file.name] = {"address": file.address, "sha256": digest} | _times(path)
    with contextlib.suppress(PermissionError), replacing(folder / RECORDS) as temporary:
        temporary.write_text(json.dumps(kept, indent=2), encoding="utf-8")


def _times(path):
    about = path.stat()
    return {"size": about.st_size, "time": about.st_mtime_ns}


def _digest(path, algorithm):
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
