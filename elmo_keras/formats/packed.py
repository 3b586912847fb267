"""Matrices in one byte a number: int8 values, and a scale for each output.

The dataset of a name holds the values, `scales/NAME` the scales: float32 `(parts, 1,
outputs)`, where each part of the rows has scales of its own, or `(rows, 1, 1)`.
"""

from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from elmo_keras.formats.quantise import quantisation_error, quantise

SCALES = "scales/"
_BY_ROW = "word_embed", "softmax/W"  # an output is a row
_EXACT = ("char_embed",)  # small
_MAX_ERROR = 0.03  # of a matrix; without outliers it has 0.013


class PackedArray:
    """The values of a packed matrix, with the interface of a file's dataset."""

    def __init__(self, values: Any, scales: Any):
        self.name, self.shape = values.name, values.shape
        self._values, self._scales = values, scales

    def __getitem__(self, everything) -> np.ndarray:
        """The values as float32, given `...`."""
        values, scales = self._values[everything], self._scales[everything]
        parts = scales.shape[0] if scales.ndim == 3 else 0
        fits = parts and values.size and not len(values) % parts
        fits = fits and scales.shape[1:] in ((1, 1), (1, values.shape[-1]))
        if not fits or {values.dtype.kind, scales.dtype.kind} - {*"fiu"}:
            raise ValueError(
                f"`{self.name}` {list(self.shape)} should have numbers as scales, one "
                f"for each row or output. Found: {scales.dtype} {list(scales.shape)}"
            )
        # The last axis of the values, or all of a row, has one scale.
        wide = values.reshape(parts, -1, values.shape[-1])
        return (wide * scales.astype(np.float32)).reshape(values.shape)


def join_scales(datasets: Mapping[str, Any]) -> dict[str, Any]:
    """The datasets of a file by name; packed ones are unpacked when they are read."""
    return {
        name: PackedArray(dataset, datasets[SCALES + name])
        if SCALES + name in datasets
        else dataset
        for name, dataset in datasets.items()
        if not name.startswith(SCALES)
    }


def write_packed(file: h5py.File, name: str, array: np.ndarray, parts: int) -> None:
    """Writes a matrix, made of `parts` ones, as int8; exact if it is small or has outliers."""
    if array.ndim == 1 or name in _EXACT:
        file[name] = array
        return
    by_row = name in _BY_ROW
    wide = array.reshape(len(array) if by_row else parts, -1, array.shape[-1])
    values, scales = quantise(wide, (1, 2) if by_row else 1)
    if not by_row and quantisation_error(wide, values, scales) > _MAX_ERROR:
        file[name] = array
        return
    values = values.reshape(array.shape)
    file.create_dataset(name, data=values, compression="gzip", shuffle=False)
    file[SCALES + name] = scales
