"""Whether a downloaded file is of the kind that its name says, and whole."""

import bz2
import gzip
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from elmo_keras.published_options import MAX_OPTIONS

START = 1024  # bytes that `check_start` wants to see
BLOCK = 2**20
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Version of an HDF5 file's superblock → the positions of the width of addresses and of
# the address of the file's end.
HDF5_ADDRESSES = {0: (13, 40), 1: (13, 44), 2: (9, 28), 3: (9, 28)}
PAGE = re.compile(rb"(?i)\s*<(!doctype|html|head|body|\?xml|error|!--)")
# Bytes of a vocabulary, and of weights: ten times those of the largest published.
MAX_TEXT, MAX_WEIGHTS = 2**30, 2**34
# Ending of the name → the kind of file, how one starts, and how many bytes it may have.
KINDS = {
    ".hdf5": ("an HDF5 file", HDF5_SIGNATURE, MAX_WEIGHTS),
    ".zip": ("a zip archive", b"PK", MAX_WEIGHTS),
    ".tar": ("a tar archive", b"", MAX_WEIGHTS),
    ".gz": ("a gzip archive", b"\x1f\x8b", MAX_WEIGHTS),
    ".tgz": ("a gzip archive", b"\x1f\x8b", MAX_WEIGHTS),
    ".bz2": ("a bzip2 archive", b"BZh", MAX_WEIGHTS),
    ".json": ("JSON", b"{", MAX_OPTIONS),
}


def kind_of(name: str) -> tuple[str, bytes, int]:
    """The kind that the name of a file says, see `KINDS`."""
    return KINDS.get(Path(name).suffix, ("a file of a model", b"", MAX_TEXT))


def check_start(name: str, start: bytes) -> None:
    """Checks the first `START` bytes of a file: its kind should be that of its name."""
    kind, signature, _ = kind_of(name)
    start = start.removeprefix(b"\xef\xbb\xbf")
    if PAGE.match(start):
        words = re.sub(rb"(?s)<(script|style).*?</\1>|<[^>]*>", b" ", start)
        text = " ".join(words.decode(errors="replace").split())
        found = f"is a web page or an error message: {text[:100]!r}"
    elif not start:
        found = "is empty"
    elif not (start.lstrip() if kind == "JSON" else start).startswith(signature):
        found = f"starts with {start[:16]!r}"
    else:
        return
    raise ValueError(f"it should be {kind}, but it {found}")


def check_whole(name: str, path: Path) -> None:
    """Checks that a file of a known kind is whole, as far as the kind shows it."""
    check = _CHECKS.get(Path(name).suffix)
    if check and (problem := check(path)):
        raise ValueError(f"it should be {kind_of(name)[0]}, but {problem}")


def _json(path):
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        return f"it can't be parsed: {error}"
    return None


def _hdf5(path):
    """What is wrong with an HDF5 file that is shorter than its superblock says."""
    with path.open("rb") as file:
        head = file.read(START)
    width_at, end_at = HDF5_ADDRESSES.get(head[8] if len(head) > 8 else 0, (0, 0))
    if len(head) < end_at + 8:
        return "it ends in its first bytes"
    if head[width_at] != 8:
        return None  # of a version or a width of addresses that is never seen
    (end,) = struct.unpack_from("<Q", head, end_at)
    if path.stat().st_size < end:
        return f"it ends after {path.stat().st_size:,} of {end:,} bytes"
    return None


def _compressed(opened: Callable) -> Callable[[Path], str | None]:
    def check(path):
        try:
            with opened(path) as file:
                while file.read(BLOCK):
                    pass
        except (OSError, EOFError, zlib.error) as error:
            return f"it can't be unpacked: {error}"
        return None

    return check


_CHECKS = {
    ".hdf5": _hdf5,
    ".zip": lambda path: "" if zipfile.is_zipfile(path) else "its end is missing",
    ".gz": _compressed(gzip.open),
    ".tgz": _compressed(gzip.open),
    ".bz2": _compressed(bz2.open),
    ".json": _json,
}
