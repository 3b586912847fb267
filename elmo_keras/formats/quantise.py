"""Matrices in int8 with a scale for each output."""

from typing import Any

import numpy as np


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
    """The root mean square of the errors, as parts of the size of an output's typical weight.

    About 0.01 for weights with a normal distribution, more with outliers.
    """
    axes = tuple(i for i, n in enumerate(scales.shape) if n < weights.shape[i])
    # The deviation of normal ones. Outputs may differ much: those of a dead ReLU stay small.
    typical = np.median(np.abs(weights), axis=axes, keepdims=True) / 0.6745
    errors = (values * scales - weights) / np.maximum(typical, 1e-12)
    return float(np.sqrt(np.mean(np.square(errors))))
