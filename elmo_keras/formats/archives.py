"""Zips and tars, read in memory within bounds; nothing is unpacked to a path."""

import bz2
import contextlib
import gzip
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

MAX_MEMBERS = 10_000
# Weights hardly shrink, text does by 3 to 5: more than this is a bomb.
FREE_BYTES, MAX_RATIO = 2**26, 30
_MAX_HEADER = 2**20  # bytes of a tar's header, with long names
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}
_ENCRYPTED = 1  # flag of a zip's member
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}


class Archive:
    """The files of an open archive; folders, links and devices are left out."""

    def __init__(
        self,
        path: Path,
        members: list[tuple[str, int]],  # names and sizes, as the archive declares them
        open_member: Callable[[str], BinaryIO],
    ):
        self.path, self._open, self.sizes = path, open_member, dict(members)
        if len(self.sizes) < len(members):
            raise ValueError("It holds two files of one name.")
        for name in self.sizes:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(f"{name!r} lies outside of it.")
        _check_size(path, sum(self.sizes.values()))

    @contextlib.contextmanager
    def open(self, name: str, most: int) -> Iterator[BinaryIO]:
        """A file, open for reading; it ends at its declared size at the latest."""
        size = self.sizes[name]
        if size > most:
            raise ValueError(
                f"{name} in {self.path} should have at most {most:,} bytes. It has "
                f"{size:,}."
            )
        message = f"{name} in {self.path} can't be read."
        with _errors_named(message), self._open(name) as file:
            yield file

    def read(self, name: str, most: int) -> bytes:
        with self.open(name, most) as file:
            content = file.read(self.sizes[name])
            if len(content) < self.sizes[name]:
                raise ValueError("It ends too early.")
        return content


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
    found = (opener for magic, opener in _OPENERS.items() if start.startswith(magic))
    return next(found, None)


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The files of a zip or a tar that is sound and would not fill the memory."""
    with contextlib.ExitStack() as stack:
        with _errors_named(f"{path} should be a complete zip or tar."):
            opener = _tar if _tar_opener(path) else _zip
            archive = stack.enter_context(opener(path))
        yield archive


@contextlib.contextmanager
def _zip(path):
    with zipfile.ZipFile(path) as file:
        _check_count(len(file.infolist()))
        files = [
            info
            for info in file.infolist()
            if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16)
        ]
        infos = {info.filename: info for info in files}

        def open_member(name):
            info = infos[name]
            if info.flag_bits & _ENCRYPTED:
                raise ValueError("It is encrypted: unpack the archive by its password.")
            if info.compress_type not in _COMPRESSIONS:
                raise ValueError("Its compression should be deflate, bzip2 or none.")
            return file.open(info)

        members = [(info.filename, info.file_size) for info in files]
        yield Archive(path, members, open_member)


@contextlib.contextmanager
def _tar(path):
    with (
        _tar_opener(path)(path, "rb") as stream,
        tarfile.open(fileobj=(bounded := _Bounded(path, stream)), mode="r:") as file,
    ):
        files = []
        for number, info in enumerate(file):
            _check_count(number)
            if info.isreg() and not info.issparse():
                files.append(info)
        bounded.most = None
        infos = {info.name: info for info in files}
        members = [(info.name, info.size) for info in files]
        yield Archive(path, members, lambda name: file.extractfile(infos[name]))


class _Bounded:
    """A stream of which not more than an archive may hold is read."""

    def __init__(self, path, stream):
        self.path, self.stream, self.most = path, stream, _MAX_HEADER

    def read(self, size):
        if self.most and size > self.most:
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
def _errors_named(message):
    try:
        yield
    except Exception as error:  # damaged content raises all kinds
        if getattr(error, "errno", None) is not None:  # of the disk, not of the content
            raise
        raise ValueError(f"{message} {error!s:.500}") from error
