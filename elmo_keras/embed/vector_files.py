"""The files that vectors are written to, sentence by sentence."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5f, h5fd, h5p, h5s, h5t

from elmo_keras.embed.journal import JournaledFile

HDF5_SUFFIXES = ".hdf5", ".h5"
ARRAY_SUFFIXES = *HDF5_SUFFIXES, ".npy"
SUFFIXES = *ARRAY_SUFFIXES, ".parquet"
SENTENCE_TO_INDEX = "sentence_to_index"
N_SENTENCES = "sentences"  # attribute of a finished file

# HDF5 1.8 (2008) and later can read it; its groups grow without being rewritten.
_FORMAT = "v108", "v108"


class Hdf5Output:
    """HDF5 as bilm-tf and `allennlp elmo` write it: dataset `"i"` for sentence i.

    The HDF5 file is closed after each batch, so its bytes depend on the batches that
    were written and not on whether the program was stopped in between.

    Args:
        file: the file that HDF5 is written to.
    """

    def __init__(self, file: JournaledFile):
        self._file = file

    def begin(self, about: dict[str, Any]) -> None:
        """Makes a file without sentences, with these attributes."""
        with _new_hdf5(self._file) as hdf5:
            hdf5.attrs.update(about)

    def write(
        self,
        sentences: np.ndarray,
        vectors: Sequence[np.ndarray],
        texts: Sequence[bytes] = (),
    ) -> None:
        """Adds the vectors of sentences under their numbers; texts come at the end."""
        with h5py.File(self._file, "r+", libver=_FORMAT) as hdf5:
            for sentence, array in zip(sentences.tolist(), vectors):
                _write_dataset(hdf5, str(sentence), np.ascontiguousarray(array))

    def finish(self, n_sentences: int, sentence_to_index: dict[str, str] | None):
        """Adds the number of sentences, and the index of their texts if there is one."""
        with h5py.File(self._file, "r+", libver=_FORMAT) as hdf5:
            hdf5.attrs[N_SENTENCES] = n_sentences
            if sentence_to_index is not None:
                text = json.dumps(sentence_to_index)
                hdf5.create_dataset(
                    SENTENCE_TO_INDEX, (1,), h5py.string_dtype(), data=[text]
                )

    def converted(self) -> None:
        """The file is finished as it is."""


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


class NpyOutput:
    """One array with a row for each sentence, as `numpy.save` writes it.

    It has the methods of `Hdf5Output`, but stores neither attributes nor texts.

    Args:
        file: the file that the array is written to.
        shape: shape of a row.
        dtype: dtype of the array.
        n_shards: number of shards; only every n-th sentence has a row here.
    """

    def __init__(self, file: JournaledFile, shape, dtype, *, n_shards: int):
        self._file, self._shape, self._dtype = file, shape, np.dtype(dtype)
        self._n_shards = n_shards
        self._row_bytes = self._dtype.itemsize * int(np.prod(shape))

    def begin(self, about: dict[str, Any]) -> None:
        self._write_header(0)

    def write(
        self,
        sentences: np.ndarray,
        vectors: Sequence[np.ndarray],
        texts: Sequence[bytes] = (),
    ) -> None:
        start, rows = self._write_header(0), sentences // self._n_shards
        for row, array in zip(rows.tolist(), vectors):
            self._file.seek(start + row * self._row_bytes)
            self._file.write(np.ascontiguousarray(array))

    def finish(self, n_sentences: int, sentence_to_index: dict[str, str] | None):
        self._write_header(n_sentences)

    def converted(self) -> None:
        """The file is finished as it is."""

    def _write_header(self, n_rows):
        """Writes the header; returns its size, the same for any number of rows."""
        shape, descr = (n_rows, *self._shape), np.lib.format.dtype_to_descr(self._dtype)
        about = {"descr": descr, "fortran_order": False, "shape": shape}
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(self._file, about)
        return self._file.tell()


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
    """Refuses a name that is not one of a file of vectors.

    Args:
        path: the file.
        suffixes: the endings of the formats that can be written, in lower case.

    Raises:
        ValueError: the name ends in none of them, in upper or lower case.
        ImportError: it is Parquet, and pyarrow is not installed.
    """
    if path.suffix.lower() not in suffixes:
        raise ValueError(
            f"The output should end in {' or '.join(suffixes)}, in upper or lower "
            f"case. Received: {path}"
        )
    if is_parquet(path) and importlib.util.find_spec("pyarrow") is None:
        raise ImportError("Parquet needs pyarrow: pip install 'elmo-keras[parquet]'.")
