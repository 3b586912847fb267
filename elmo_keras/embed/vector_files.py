"""The kinds of files that vectors are written to; those of `.npy`."""

import importlib.util
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

HDF5_SUFFIXES = ".hdf5", ".h5"
ARRAY_SUFFIXES = *HDF5_SUFFIXES, ".npy"
SUFFIXES = *ARRAY_SUFFIXES, ".parquet"

Batches = Iterable[tuple[Sequence[int], Sequence[np.ndarray]]]


def write_npy(
    path: Path, batches: Batches, *, shape: Sequence[int], dtype: str, step: int = 1
) -> None:
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
    return path.suffix.lower() == ".npy"


def is_hdf5(path: Path) -> bool:
    return path.suffix.lower() in HDF5_SUFFIXES


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def check_suffix(path: Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    if path.suffix.lower() not in suffixes:
        raise ValueError(
            f"The output should end in {' or '.join(suffixes)}, in upper or lower "
            f"case. Received: {path}"
        )
    if is_parquet(path) and importlib.util.find_spec("pyarrow") is None:
        raise ImportError("Parquet needs pyarrow: pip install 'elmo-keras[parquet]'.")
