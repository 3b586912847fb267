"""Zips and tars, unpacked once into the cache by Python's own libraries."""

import glob
import hashlib
import os
import shutil
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from elmo_keras.base.files import file_digest, naming_damage, on_disk
from elmo_keras.hub.cache import UNPACKED, cache_folder, only_writer
from elmo_keras.hub.catalogue import SOFTMAX

MAX_MEMBERS = 10_000
# Weights hardly shrink, text does by 3 to 5: more than this is a bomb.
FREE_BYTES, MAX_RATIO = 2**26, 30
# The first bytes of archives, by which cut ones are known, too.
_ZIP, _COMPRESSED = b"PK\3\4", (b"\x1f\x8b", b"BZh", b"\xfd7zX")
# Patterns of the files that only the folder of a model holds.
_MODEL = "*.hdf5", "*options.json", "*.index", "*.pkl", "saved_model.pb"
_TRAINING = PurePosixPath(SOFTMAX).parent.name


def is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(4)
    is_zip = start.startswith(_ZIP) or zipfile.is_zipfile(path)
    return is_zip or start.startswith(_COMPRESSED) or tarfile.is_tarfile(path)


def unpack(path: Path) -> Path:
    """The folder of the model in an archive, unpacked if it isn't in the cache.

    The checkpoints of its training, beside the softmax, are left out. A process that
    comes while another one unpacks waits for it.
    """
    cache = cache_folder()
    parent = (path.parent if path.is_relative_to(cache) else cache) / UNPACKED
    name_digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()
    stem = f"{path.name}-{name_digest[:8]}"
    folder = parent / f"{stem}-{file_digest(path)[:8]}"
    if not folder.exists():
        with only_writer(parent, f"Waiting for another process, which unpacks {path}."):
            if not folder.exists():
                earlier = [*parent.glob(f"{glob.escape(stem)}-*")]
                _unpack(path, folder)
                for other in earlier:  # their archive was replaced since
                    shutil.rmtree(other, ignore_errors=True)
    return _folder_of_model(folder, path)


def _unpack(path, folder):
    temporary = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir()
        with naming_damage(f"{path} should be a complete zip or tar."):
            extract(path, temporary)
        for file in temporary.rglob("*"):
            if file.is_file():
                with on_disk(file, "ab"):
                    pass
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def extract(path: Path, folder: Path) -> None:
    """Unpacks the files of a model; the libraries write nothing outside of the folder."""
    total, most = 0, FREE_BYTES + MAX_RATIO * path.stat().st_size
    is_tar = not zipfile.is_zipfile(path) and tarfile.is_tarfile(path)
    opener: Any = tarfile.open if is_tar else zipfile.ZipFile
    with opener(path) as archive:
        for count, member in enumerate(archive if is_tar else archive.infolist()):
            total += member.size if is_tar else member.file_size
            if total > most or count == MAX_MEMBERS:
                raise ValueError(
                    f"It unpacks to {total:,} bytes or more, in {count + 1:,} files or "
                    f"more; a model would have at most {most:,} and {MAX_MEMBERS:,}."
                )
            name = PurePosixPath(member.name if is_tar else member.filename)
            is_state = _TRAINING in name.parts[:-1] and not name.match(SOFTMAX)
            if is_state or "__MACOSX" in name.parts:
                continue
            if not is_tar:
                archive.extract(member, folder)
            elif member.isreg():
                archive.extract(member, folder, filter="data")


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
