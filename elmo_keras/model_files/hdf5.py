"""HDF5 files: opened with a clear error, written whole, listed by dataset."""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import h5py


def open_hdf5(source: str | Path | BinaryIO) -> h5py.File:
    """`h5py.File` for reading, with an error that says what is wrong.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not HDF5.
    """
    try:
        return h5py.File(source, "r")
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {source}.") from None
    except OSError as error:
        raise ValueError(f"{source} should be an HDF5 file. {error}") from error


@contextlib.contextmanager
def new_hdf5(path: Path, userblock_size: int = 0) -> Iterator[h5py.File]:
    """A new file, written to `path` when the block ends.

    It is made in memory, because HDF5 ends the process if the disk is full.

    Args:
        path: replaced if it exists.
        userblock_size: bytes reserved before the content, for its SHA-256.
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


def datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Name → dataset for every dataset of a file, including those in groups."""
    found = {}
    file.visititems(
        lambda name, item: (
            found.update({name: item}) if isinstance(item, h5py.Dataset) else None
        )
    )
    return found
