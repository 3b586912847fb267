"""HDF5 files of vectors, one dataset a sentence."""

import io
import json
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5f, h5fd, h5p, h5s, h5t  # pyright: ignore

from elmo_keras.base.files import naming_damage
from elmo_keras.embed.writers.npy import Batches

SENTENCE_TO_INDEX = "sentence_to_index"
N_SENTENCES = "sentences"  # attribute of a finished file

# HDF5 1.8 (2008) and later can read it; its groups grow without being rewritten.
_FORMAT = "v108", "v108"


def write_hdf5(
    path: Path,
    batches: Batches,
    *,
    metadata: dict[str, Any],
    sentence_to_index: dict[str, str] | None,
) -> None:
    """Writes HDF5 as bilm-tf and `allennlp elmo` do: dataset `"i"` for sentence i.

    The bytes depend on the batches too, as the file is closed after each of them.
    """
    n_sentences = 0
    with _QuietFile(path) as file:
        with _new_hdf5(file) as hdf5:
            hdf5.attrs.update(metadata)
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


class _QuietFile(io.FileIO):
    """A new file for HDF5, which would end the process if a write failed.

    `check` and the end of `with` raise the first error of a write instead.
    """

    def __init__(self, path: Path):
        super().__init__(path, "w+")
        self._errno = 0  # the first `errno`: an error would refer to this file

    def write(self, data) -> int:
        data = memoryview(data).cast("B")
        size = len(data)
        try:
            while len(data):
                data = data[super().write(data) :]
        except OSError as error:
            self._errno = self._errno or error.errno
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self._errno = self._errno or error.errno
            return self.tell()

    def check(self) -> None:
        if self._errno:
            raise OSError(self._errno, os.strerror(self._errno))

    def __exit__(self, *_):
        try:
            self.check()  # before an error of HDF5 that follows from it
            os.fsync(self.fileno())
        finally:
            self.close()


def _new_hdf5(file):
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
    dtype, space = h5t.py_create(array.dtype), h5s.create_simple(array.shape)
    dataset = h5d.create(hdf5.id, name.encode(), dtype, space, creation)
    dataset.write(h5s.ALL, h5s.ALL, array)


class Hdf5Reader:
    has_tokens = True

    def __init__(self, path: Path):
        with naming_damage(f"{path} should be an HDF5 file."):
            self._file, self._path = h5py.File(path, "r"), path
        self.attributes = dict(self._file.attrs)
        others = SENTENCE_TO_INDEX in self._file
        self._length: Any = self.attributes.get(N_SENTENCES, len(self._file) - others)

    def __len__(self) -> int:
        return int(self._length)

    def read(self, sentence: int, _: int) -> np.ndarray:
        name = str(sentence)
        with naming_damage(f"{self._path} should hold the vectors `{name}`."):
            return _dataset(self._file, name)[()]

    def close(self) -> None:
        self._file.close()


def _dataset(file, name):
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise ValueError("It is missing, or a link to somewhere else.")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind != "f":
        raise ValueError("It should be an array of floats.")
    if dataset.external or dataset.is_virtual:
        raise ValueError("Its values are in another file.")
    return dataset
