"""Files and folders that are written whole, by one process, for one run."""

import codecs
import contextlib
import hashlib
import importlib.metadata
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from elmo_keras.base.messages import say

LOCK = "lock"
_DIGESTS = re.compile("([0-9a-f]{64})+")  # SHA-256 says nothing to a reader


class OtherRun(ValueError):
    """A file that belongs to a run with other values."""


def check_same_run(
    now: Mapping[str, Any], then: Mapping[str, Any], source: str | Path, advice: str
) -> None:
    """Refuses to resume a run with other values; the message names all of them."""
    pairs = {name: (then.get(name), now.get(name)) for name in {**now, **then}}
    others = [
        _difference(name, *map(str, pair))
        for name, pair in pairs.items()
        if pair[0] != pair[1]
    ]
    if others:
        raise OtherRun(f"{source} was made with {'; with '.join(others)}. {advice}")


def _difference(name, old, new):
    if _DIGESTS.fullmatch(old) or _DIGESTS.fullmatch(new):
        return f"different {name}"
    return f"{name} {old:.500}; this run has {new:.500}"


def whole_file(path: str | Path, most: int) -> bytes:
    """The content of a text file, without a byte order mark."""
    with Path(path).open("rb") as file:
        # `read` takes memory for as much as it may read; a pipe has no size.
        size = os.fstat(file.fileno()).st_size or most
        content = file.read(min(size, most) + 1)
    if len(content) > most:
        raise ValueError(f"{path} should have at most {most:,} bytes.")
    return content.removeprefix(codecs.BOM_UTF8)


def file_stamp(path: Path) -> dict[str, Any]:
    """The name, size and time of a file, by which a change of its content is noticed."""
    status = path.stat()
    return {"name": path.name, "size": status.st_size, "time": status.st_mtime_ns}


def file_digest(path: Path) -> str:
    """SHA-256 of the content of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def installed_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@contextlib.contextmanager
def naming_damage(message: str, unless_value_error: str = "") -> Iterator[None]:
    """Turns errors of any type, which damaged content causes, into a `ValueError`."""
    try:
        yield
    except Exception as error:
        # Errors of the disk, or of packages that are not installed.
        if getattr(error, "errno", None) is not None or isinstance(error, ImportError):
            raise
        hint = "" if isinstance(error, ValueError) else unless_value_error
        text = " ".join(f"{message} {error!s:.300} {hint}".split())
        raise ValueError(text) from error


@contextlib.contextmanager
def on_disk(path: Path, mode: str = "wb") -> Iterator[Any]:
    """Opens a file, and waits at the end until its content is on the disk."""
    with path.open(mode) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path; the file written there replaces `path` at the end."""
    for left_over in left_overs(path):
        left_over.unlink(missing_ok=True)  # a process was killed
    temporary = temporary_path(path)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """Where this process writes a file until it is complete."""
    # The suffix is the same, because Keras takes the format from it.
    return path.with_name(f".{path.name}.{os.getpid()}{path.suffix}")


def left_overs(path: Path) -> list[Path]:
    """The temporary files of all processes for a path, which `replacing` removes."""
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+{re.escape(path.suffix)}")
    # A name may hold `*` or `[`, so it is no pattern for `glob`.
    return [p for p in path.parent.glob(".*") if name.fullmatch(p.name)]


@contextlib.contextmanager
def only_process(
    folder: Path, message: str, *, wait: bool = False, remove: bool = False
) -> Iterator[None]:
    """Holds the lock of a folder, which is made; the lock's file stays, or is removed.

    If another process holds it, raises `ValueError(message)`, or prints it and waits. The
    lock ends with the process, however it ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    from filelock import FileLock, Timeout  # only locking needs it

    lock = FileLock(folder / LOCK, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if not wait:
            raise ValueError(message) from None
        say(message)
        lock.acquire()
    if remove and not (folder / LOCK).exists():  # removed between opening and locking
        lock.release()
        raise ValueError(message)
    try:
        yield
    finally:
        if remove:
            with contextlib.suppress(OSError):  # Windows removes no open file
                (folder / LOCK).unlink()
        lock.release()
