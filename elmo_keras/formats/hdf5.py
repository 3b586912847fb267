"""HDF5 files: opened with a clear error, and written whole."""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import h5py

from elmo_keras.formats.hdf5_format.hdf5_reader import Hdf5File
from elmo_keras.formats.packed import unpacked


class Content(NamedTuple):
    """A file that was read."""

    name: str
    data: bytes


def open_hdf5(file: str | Path | Content) -> Hdf5File:
    """The datasets of a file that nobody vouches for, read without libhdf5."""
    name, source = file if isinstance(file, Content) else (file, file)
    try:
        file = Hdf5File(source)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {name}.") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{name} should be an HDF5 file. {error}") from error
    file.datasets = unpacked(file.datasets)
    return file


@contextlib.contextmanager
def new_hdf5(path: Path, userblock_size: int = 0) -> Iterator[h5py.File]:
    """A new file, written to `path` at the end: HDF5 itself dies of a full disk.

    The user block, if there is one, gets the SHA-256 of the rest.
    """
    content = io.BytesIO()
    with h5py.File(content, "w", userblock_size=userblock_size) as file:
        yield file
    content = content.getbuffer()
    if userblock_size:
        digest = hashlib.sha256(content[userblock_size:]).digest()
        content[: len(digest)] = digest
    with path.open("wb") as written:
        written.write(content)
        written.flush()
        os.fsync(written.fileno())
