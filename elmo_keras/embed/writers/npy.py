"""NumPy files of vectors, one array with a vector of each sentence."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.base.files import naming_damage, on_disk

Batches = Iterable[tuple[Sequence[int], Sequence[np.ndarray]]]


def write_npy(
    path: Path,
    batches: Batches,
    *,
    shape: Sequence[int],
    dtype: str,
    step: int = 1,
) -> None:
    """Writes a vector of each sentence; the sentences are 0, `step`, 2 · `step`, …"""
    dim = shape[1:]
    with on_disk(path) as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False}
        np.lib.format.write_array_header_1_0(file, header | {"shape": tuple(shape)})
        start, row_bytes = file.tell(), np.zeros(dim, dtype).nbytes
        for sentences, vectors in batches:
            for sentence, array in zip(sentences, vectors, strict=True):
                file.seek(start + sentence // step * row_bytes)
                file.write(np.ascontiguousarray(array, dtype).data)


def open_npy(path: Path) -> np.ndarray:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    with naming_damage(f"{path} should be a .npy file."):
        array = np.lib.format.open_memmap(path, mode="r")
    if array.dtype.kind != "f" or array.ndim < 2:
        raise ValueError(f"{path} should hold one array of vectors.")
    return array


class NpyReader:
    has_tokens = False

    def __init__(self, path: Path):
        self._array = open_npy(path)
        self.attributes: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._array)

    def read(self, _: int, row: int) -> np.ndarray:
        return np.array(self._array[row])

    def close(self) -> None:
        del self._array
