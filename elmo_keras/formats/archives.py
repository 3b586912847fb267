"""Zips and tars: looked through within bounds, and unpacked once into the cache."""

import bz2
import contextlib
import glob
import gzip
import hashlib
import json
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from elmo_keras.hub.cache import UNPACKED, cache_folder
from elmo_keras.hub.catalogue import SOFTMAX
from elmo_keras.util.files import file_stamp, only_process

MAX_MEMBERS = 10_000
# Weights hardly shrink, text does by 3 to 5: more than this is a bomb.
FREE_BYTES, MAX_RATIO = 2**26, 30
_MAX_HEADER = 2**20  # bytes of a tar's header, with long names
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}
_ENCRYPTED = 1  # flag of a zip's member
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
_BLOCK = 2**20
# Patterns of the files that only the folder of a model holds.
_MODEL = "*.hdf5", "*options.json", "*.index", "*.pkl", "saved_model.pb"
_TRAINING = PurePosixPath(SOFTMAX).parent.name


def unpack(path: Path) -> Path:
    """The folder of the model in an archive, unpacked if it isn't in the cache.

    The checkpoints of its training, beside the softmax, are left out. A process that
    comes while another one unpacks waits for it.
    """
    cache = cache_folder()
    parent = (path.parent if path.is_relative_to(cache) else cache) / UNPACKED
    stem = f"{path.name}-{_fingerprint(str(path.resolve()))}"
    folder = parent / f"{stem}-{_fingerprint(json.dumps(file_stamp(path)))}"
    if not folder.exists():
        message = f"Waiting for another process, which unpacks {path}."
        with only_process(parent, message, wait=True):
            if not folder.exists():
                earlier = [*parent.glob(f"{glob.escape(stem)}-*")]
                _unpack(path, folder)
                for other in earlier:  # of an archive that was replaced since
                    shutil.rmtree(other, ignore_errors=True)
    return _folder_of_model(folder, path)


def _fingerprint(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _unpack(path, folder):
    temporary = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir()
        with open_archive(path) as archive:
            for name in archive.sizes:
                folders = PurePosixPath(name).parts[:-1]
                of_training = _TRAINING in folders and not name.endswith(SOFTMAX)
                if not of_training and "__MACOSX" not in folders:
                    archive.unpack(name, temporary / name)
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _folder_of_model(folder, path):
    folders = {file.parent for pattern in _MODEL for file in folder.rglob(pattern)}
    folders = {f for f in folders if f.name not in ("variables", _TRAINING)}
    if len(folders) > 1:
        names = sorted(f.relative_to(folder).as_posix() for f in folders)
        raise ValueError(
            f"{path} should hold the files of one model in one folder. Found: "
            f"{', '.join(names)}"
        )
    return folders.pop() if folders else folder


class Archive:
    """The files of an open archive; folders, links and devices are left out."""

    def __init__(
        self,
        path: Path,
        members: list[tuple[str, int]],  # names and sizes, as the archive declares them
        open_member: Callable[[str], Any],
    ):
        self.path, self._open, self.sizes = path, open_member, dict(members)
        if len(self.sizes) < len(members):
            raise ValueError("It holds two files of one name.")
        for name in self.sizes:
            parts = PurePosixPath(name).parts
            if name.startswith("/") or ".." in parts or {*"\\:"} & {*name}:
                raise ValueError(f"{name!r} lies outside of it.")
        _check_size(path, sum(self.sizes.values()))

    def read(self, name: str, limit: int) -> bytes:
        """The content of a file, which should have at most `limit` bytes."""
        if self.sizes[name] > limit:
            raise ValueError(
                f"{name} in {self.path} should have at most {limit:,} bytes. It has "
                f"{self.sizes[name]:,}."
            )
        return b"".join(self._blocks(name))

    def unpack(self, name: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as unpacked:
            for block in self._blocks(name):
                unpacked.write(block)
            unpacked.flush()
            os.fsync(unpacked.fileno())

    def _blocks(self, name):
        size, message = self.sizes[name], f"{name} in {self.path} can't be read."
        with _naming_errors(message), self._open(name) as file:
            while size:
                block = file.read(min(size, _BLOCK))
                if not block:
                    raise ValueError("It ends too early.")
                size -= len(block)
                yield block
            file.read(1)  # a zip compares its checksum at the end


def is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        is_zip = file.read(4) == b"PK\3\4"
    return is_zip or zipfile.is_zipfile(path) or _tar_opener(path) is not None


def _tar_opener(path):
    with path.open("rb") as file:
        start = file.read(512)
    if start.startswith(b"PK\3\4"):  # a zip, whatever follows
        return None
    if start[257:262] == b"ustar":
        return open
    matches = (opener for magic, opener in _OPENERS.items() if start.startswith(magic))
    return next(matches, None)


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The files of a zip or a tar that is sound and would not fill the disk."""
    with contextlib.ExitStack() as stack:
        with _naming_errors(f"{path} should be a complete zip or tar."):
            opener = _open_tar if _tar_opener(path) else _open_zip
            archive = stack.enter_context(opener(path))
        yield archive


@contextlib.contextmanager
def _open_zip(path):
    with zipfile.ZipFile(path) as file:
        _check_count(len(file.infolist()))
        members = {}

        def open_member(name):
            member = members[name]
            if member.flag_bits & _ENCRYPTED:
                raise ValueError("It is encrypted: unpack the archive by its password.")
            if member.compress_type not in _COMPRESSIONS:
                raise ValueError("Its compression should be deflate, bzip2 or none.")
            return file.open(member)

        sizes = []
        for member in file.infolist():
            if not member.is_dir() and not stat.S_ISLNK(member.external_attr >> 16):
                members[member.filename] = member
                sizes.append((member.filename, member.file_size))
        yield Archive(path, sizes, open_member)


@contextlib.contextmanager
def _open_tar(path):
    opener = _tar_opener(path) or open
    with contextlib.ExitStack() as stack:
        bounded: Any = _Bounded(path, stack.enter_context(opener(path, "rb")))
        file = stack.enter_context(tarfile.open(fileobj=bounded, mode="r:"))
        files = []
        for count, member in enumerate(file):
            _check_count(count)
            if member.isreg() and not member.issparse():
                files.append(member)
        bounded.limit = None
        members = {member.name: member for member in files}
        sizes = [(member.name, member.size) for member in files]
        yield Archive(path, sizes, lambda name: file.extractfile(members[name]))


class _Bounded:
    """A stream of which not more than an archive may hold is read."""

    def __init__(self, path, stream):
        self.path, self.stream = path, stream
        self.limit = _MAX_HEADER

    def read(self, size):
        if self.limit and size > self.limit:
            raise ValueError("It has a header that is too long.")
        _check_size(self.path, self.stream.tell() + size)
        return self.stream.read(size)

    def seek(self, position):
        _check_size(self.path, position)
        return self.stream.seek(position)

    def tell(self):
        return self.stream.tell()


def _check_size(path, size):
    packed = path.stat().st_size
    if size > FREE_BYTES + MAX_RATIO * packed:
        raise ValueError(
            f"Its {packed:,} bytes unpack to {size:,} or more, which weights don't."
        )


def _check_count(count):
    if count > MAX_MEMBERS:
        raise ValueError(f"It holds more than {MAX_MEMBERS:,} files.")


@contextlib.contextmanager
def _naming_errors(message):
    try:
        yield
    except Exception as error:  # damaged content raises all kinds
        if getattr(error, "errno", None) is not None:  # of the disk, not of the content
            raise
        raise ValueError(f"{message} {error!s:.500}") from error
