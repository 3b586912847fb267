"""Zips and tars: looked through within bounds, and unpacked once into the cache."""

import bz2
import functools
import glob
import gzip
import hashlib
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from elmo_keras.base.files import file_digest, naming_damage, on_disk
from elmo_keras.hub.cache import UNPACKED, cache_folder, only_writer
from elmo_keras.hub.catalogue import SOFTMAX

MAX_MEMBERS = 10_000
# Weights hardly shrink, text does by 3 to 5: more than this is a bomb.
FREE_BYTES, MAX_RATIO = 2**26, 30
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}
_ZIP = b"PK\3\4"
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
_BLOCK = 2**20  # bytes that are read together, such as the header of a tar
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
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()
    stem = f"{path.name}-{place[:8]}"
    folder = parent / f"{stem}-{file_digest(path)[:8]}"
    if not folder.exists():
        with only_writer(parent, f"Waiting for another process, which unpacks {path}."):
            if not folder.exists():
                earlier = [*parent.glob(f"{glob.escape(stem)}-*")]
                _unpack(path, folder)
                for other in earlier:  # of an archive that was replaced since
                    shutil.rmtree(other, ignore_errors=True)
    return _folder_of_model(folder, path)


def _unpack(path, folder):
    temporary = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir()
        for name, blocks in read_archive(path):
            folders = PurePosixPath(name).parts[:-1]
            of_training = _TRAINING in folders and not name.endswith(SOFTMAX)
            if of_training or "__MACOSX" in folders:
                continue
            target = temporary / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with on_disk(target) as unpacked:
                unpacked.writelines(blocks)
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


def is_archive(path: Path) -> bool:
    is_zip = _start(path).startswith(_ZIP) or zipfile.is_zipfile(path)
    return is_zip or _tar_opener(path) is not None


def _tar_opener(path):
    start = _start(path)
    if start[257:262] == b"ustar" and not start.startswith(_ZIP):
        return open
    matches = (opener for magic, opener in _OPENERS.items() if start.startswith(magic))
    return next(matches, None)


def _start(path):
    with path.open("rb") as file:
        return file.read(512)


def read_archive(path: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yields name and content of each file of a zip or a tar that is sound.

    Folders, links and devices are left out. What was yielded never has more bytes than
    an archive may hold. Contents should be read before the next file.
    """
    names, total = set(), 0
    with naming_damage(f"{path} should be a complete zip or tar."):
        members = (_members_of_tar if _tar_opener(path) else _members_of_zip)(path)
        for count, (is_file, name, size, open_member) in enumerate(members):
            if count == MAX_MEMBERS:
                raise ValueError(f"It holds more than {MAX_MEMBERS:,} files.")
            if not is_file:
                continue
            parts = PurePosixPath(name).parts
            if name.startswith("/") or ".." in parts or {*"\\:"} & {*name}:
                raise ValueError(f"{name!r} lies outside of it.")
            if name in names:
                raise ValueError("It holds two files of one name.")
            names.add(name)
            total += size
            _check_size(path, total)
            yield name, _blocks(f"{name} in {path} can't be read.", size, open_member)


def _blocks(message, size, open_member):
    with naming_damage(message), open_member() as file:
        while size:
            block = file.read(min(size, _BLOCK))
            if not block:
                raise ValueError("It ends too early.")
            size -= len(block)
            yield block
        file.read(1)  # a zip compares its checksum at the end


def _members_of_zip(path):
    with zipfile.ZipFile(path) as file:
        for member in file.infolist():
            is_link = stat.S_ISLNK(member.external_attr >> 16)
            is_file = not (member.is_dir() or is_link)
            if member.compress_type not in _COMPRESSIONS:
                raise ValueError("Its compression should be deflate, bzip2 or none.")
            open_member = functools.partial(file.open, member)
            yield is_file, member.filename, member.file_size, open_member


def _members_of_tar(path):
    with (_tar_opener(path) or open)(path, "rb") as stream:
        bounded: Any = _Bounded(path, stream)
        with tarfile.open(fileobj=bounded, mode="r:") as file:
            for member in file:
                is_file = member.isreg() and not member.issparse()
                open_member = functools.partial(file.extractfile, member)
                yield is_file, member.name, member.size, open_member


class _Bounded:
    """A stream of which not more than an archive may hold is read."""

    def __init__(self, path, stream):
        self.path, self.stream = path, stream

    def read(self, size):
        if size > _BLOCK:
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
