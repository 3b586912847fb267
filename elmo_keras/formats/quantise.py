"""Matrices in int8 with a scale for each output, and how HDF5 files hold them.

The dataset of a name holds the values, `scales/NAME` the scales: float32 `(parts, 1,
outputs)`, where each part of the rows has scales of its own, or `(rows, 1, 1)`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # LiteRT does without h5py
    import h5py

SCALES = "scales/"
_BY_ROW = "word_embed", "softmax/W"  # each output is a row
_EXACT = ("char_embed",)  # it is small
_MAX_ERROR = 0.03  # a matrix without outliers has 0.013


def quantise(weights: np.ndarray, axis: Any) -> tuple[np.ndarray, np.ndarray]:
    """int8 values, and float32 scales: one for all values along these axes."""
    largest = np.abs(weights).max(axis=axis, keepdims=True)
    scales = np.maximum(largest, 1e-12).astype(np.float32) / 127
    shape = weights.shape
    values = np.empty(shape, np.int8)
    for first in range(0, len(weights), 1024):  # quotients take four times the memory
        part = slice(first, first + 1024)
        quotients = np.rint(weights[part] / np.broadcast_to(scales, shape)[part])
        values[part] = np.clip(quotients, -127, 127)
    return values, scales


def quantisation_error(
    weights: np.ndarray, values: np.ndarray, scales: np.ndarray
) -> float:
    """The root mean square of the errors, relative to an output's typical weight.

    About 0.01 for weights with a normal distribution, more with outliers.
    """
    axes = tuple(i for i, n in enumerate(scales.shape) if n < weights.shape[i])
    # The standard deviation of a normal distribution. Each output has its own: the
    # weights of a dead ReLU are small.
    typical = np.median(np.abs(weights), axis=axes, keepdims=True) / 0.6745
    errors = (values * scales - weights) / np.maximum(typical, 1e-12)
    return float(np.sqrt(np.mean(np.square(errors))))


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


def write_packed(file: "h5py.File", name: str, array: np.ndarray, parts: int) -> None:
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
