"""A dense layer by a compiled graph."""

import threading

import numpy as np

from elmo_keras.formats.quantise import quantise
from elmo_keras.lite.graph import Graph, Matrix, Model
from elmo_keras.lite.runtime import CompiledModel, aligned

_ROWS = 64  # of a product


class LiteDense:
    """`x W + b` in int8, of rows that do not change each other.

    Args:
        kernel: `(in, out)`.
        bias: `(out,)`.
    """

    def __init__(self, kernel: np.ndarray, bias: np.ndarray):
        values, scales = quantise(np.ascontiguousarray(kernel.T), 1)
        model = Model()
        graph = Graph(model)
        x = graph.input("x", _ROWS, len(kernel))
        weights = Matrix(values, scales.reshape(-1))
        graph.output("y", graph.dense(x, weights, np.asarray(bias, np.float32)))
        model.add("dense", graph)
        self._x, self._y = aligned(_ROWS, len(kernel)), aligned(_ROWS, len(bias))
        compiled = CompiledModel(np.frombuffer(model.to_bytes(), np.uint8))
        arrays = {"x": self._x.reshape(-1), "y": self._y.reshape(-1)}
        self._run, self._lock = compiled.bind("dense", arrays), threading.Lock()

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """`(rows, in)` → `(rows, out)`."""
        y = np.empty((len(x), self._y.shape[1]), np.float32)
        with self._lock:
            for first in range(0, len(x), _ROWS):
                part = x[first : first + _ROWS]
                self._x[: len(part)] = part
                self._run()
                y[first : first + _ROWS] = self._y[: len(part)]
        return y
