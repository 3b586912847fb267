"""Whether a run is the one that was begun: its values, versions and stamps of files."""

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class OtherRun(ValueError):
    """What was begun belongs to a run with other values."""


def check_same_run(
    now: Mapping[str, Any], then: Mapping[str, Any], begun: str | Path, advice: str
) -> None:
    """Refuses to resume what was begun with other values; the message names the first."""
    for name in {**now, **then}:
        if now.get(name) != then.get(name):
            raise OtherRun(
                f"{begun} was made with {name} {then.get(name)!s:.500}; this run has "
                f"{now.get(name)!s:.500}. {advice}"
            )


def file_stamp(path: Path) -> dict[str, Any]:
    """The name, size and time of a file, by which a change of its content is noticed."""
    about = path.stat()
    return {"name": path.name, "size": about.st_size, "time": about.st_mtime_ns}


def installed_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
