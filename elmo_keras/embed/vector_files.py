"""The files of arrays that vectors are written to: HDF5 and `.npy`."""

import importlib.util
import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5f, h5fd, h5p, h5s, h5t

HDF5_SUFFIXES = ".hdf5", ".h5"
ARRAY_SUFFIXES = *HDF5_SUFFIXES, ".npy"
SUFFIXES = *ARRAY_SUFFIXES, ".parquet"
SENTENCE_TO_INDEX = "sentence_to_index"
N_SENTENCES = "sentences"  # attribute of a finished file

# HDF5 1.8 (2008) and later can read it; its groups grow without being rewritten.
_FORMAT = "v108", "v108"

Batches = Iterable[tuple[Sequence[int], Sequence[np.ndarray]]]


def write_hdf5(
    path: Path,
    batches: Batches,
    *,
    about: dict[str, Any],
    sentence_to_index: dict[str, str] | None,
) -> None:
    """Writes HDF5 as bilm-tf and `allennlp elmo` do: dataset `"i"` for sentence i."""
    # The file is closed after each batch, and so the bytes depend on the batches too.
    n_sentences = 0
    with _CalmFile(path) as file:
        with _new_hdf5(file) as hdf5:
            hdf5.attrs.update(about)
        for sentences, vectors in batches:
            with h5py.File(file, "r+", libver=_FORMAT) as hdf5:
                for sentence, array in zip(sentences, vectors, strict=True):
                    _write_dataset(hdf5, str(sentence), np.ascontiguousarray(array))
                    file.check()
            n_sentences += len(sentences)
        with h5py.File(file, "r+", libver=_FORMAT) as hdf5:
            hdf5.attrs[N_SENTENCES] = n_sentences
            if sentence_to_index is not None:
                text = json.dumps(sentence_to_index)
                hdf5.create_dataset(
                    SENTENCE_TO_INDEX, (1,), h5py.string_dtype(), data=[text]
                )


class _CalmFile(io.FileIO):
    """A new file for HDF5, which would end the process if a write failed.

    `check` and the end of `with` raise the first error of a write instead.
    """

    def __init__(self, path: Path):
        super().__init__(path, "w+")
        self._error: OSError | None = None

    def write(self, data) -> int:
        data = memoryview(data).cast("B")
        size = len(data)
        try:
            while len(data):
                data = data[super().write(data) :]
        except OSError as error:
            self._error = self._error or error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self._error = self._error or error
            return self.tell()

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def __exit__(self, *_):
        try:
            self.check()  # before an error of HDF5 that follows from it
            os.fsync(self.fileno())
        finally:
            self.close()


def _new_hdf5(file):
    """A new HDF5 file that stores no creation time."""
    # `h5py.File` has no argument for the times of the root group.
    creation = h5p.create(h5p.FILE_CREATE)
    creation.set_obj_track_times(False)
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_fclose_degree(h5f.CLOSE_STRONG)
    access.set_libver_bounds(h5f.LIBVER_V18, h5f.LIBVER_V18)
    access.set_fileobj_driver(h5fd.fileobj_driver, file)
    name = repr(file).encode()
    return h5py.File(h5f.create(name, h5f.ACC_TRUNC, creation, access))


def _write_dataset(hdf5, name, array):
    # `create_dataset` does the same, but takes 50 % longer.
    creation = h5p.create(h5p.DATASET_CREATE)
    creation.set_obj_track_times(False)
    creation.set_fill_time(h5d.FILL_TIME_NEVER)
    kind, space = h5t.py_create(array.dtype), h5s.create_simple(array.shape)
    dataset = h5d.create(hdf5.id, name.encode(), kind, space, creation)
    dataset.write(h5s.ALL, h5s.ALL, array)


def write_npy(
    path: Path, batches: Batches, *, shape: Sequence[int], dtype: str, step: int = 1
) -> None:
    """Writes one array with a row for each sentence, as `numpy.save` does."""
    dtype = np.dtype(dtype)
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, about | {"shape": tuple(shape)})
        start, row_bytes = file.tell(), dtype.itemsize * int(np.prod(shape[1:]))
        for sentences, vectors in batches:
            for sentence, array in zip(sentences, vectors, strict=True):
                file.seek(start + sentence // step * row_bytes)
                file.write(np.ascontiguousarray(array, dtype))
        file.flush()
        os.fsync(file.fileno())


def is_npy(path: Path) -> bool:
    """Whether a file of this name holds one array of sentence vectors."""
    return path.suffix.lower() == ".npy"


def is_hdf5(path: Path) -> bool:
    """Whether a file of this name is HDF5."""
    return path.suffix.lower() in HDF5_SUFFIXES


def is_parquet(path: Path) -> bool:
    """Whether a file of this name is Parquet."""
    return path.suffix.lower() == ".parquet"


def check_suffix(path: Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Refuses a name that is not one of a file of vectors."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(
            f"The output should end in {' or '.join(suffixes)}, in upper or lower "
            f"case. Received: {path}"
        )
    if is_parquet(path) and importlib.util.find_spec("pyarrow") is None:
        raise ImportError("Parquet needs pyarrow: pip install 'elmo-keras[parquet]'.")
