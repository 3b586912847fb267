"""Keras' bidirectional LSTM and dense layer in int8, by graphs made from their weights."""

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from elmo_keras.lite.graph import Graph, Matrix, Model
from elmo_keras.lite.lstm import LiteLstm
from elmo_keras.lite.lstm_graph import LstmLayer, lstm_model
from elmo_keras.lite.runtime import CompiledModel, aligned

# Steps of blocks by the number of their rows.
_STEPS = {1: (8,), 4: (4,), 12: (4,), 32: (4,)}
_ROWS = 64  # rows of a product


class LiteBiLstm:
    """Keras' `Bidirectional(LSTM(units, return_sequences=True))` in int8.

    Args:
        directions: the arguments of `keras_lstm` for the forward and the backward LSTM.

    With output kernels, a call returns the sum of both directions' products.
    """

    def __init__(self, directions: Sequence[Sequence[np.ndarray]]):
        self._lstms, self._lock = [], threading.Lock()
        for kernel, recurrent_kernel, bias, *output_kernel in directions:
            units = len(bias) // 4
            self.dim = output_kernel[0].shape[1] if output_kernel else units
            graph = keras_lstm(
                kernel, recurrent_kernel, bias, *output_kernel, steps=_STEPS
            )
            sizes = [(units, units)]
            self._lstms.append(LiteLstm(graph, _STEPS, len(kernel), sizes, self.dim))
            self._sums = bool(output_kernel)

    def __call__(self, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Flat sentences `(tokens, in)` of these lengths → `(tokens, 2 · units)`."""
        # One more row receives outputs that belong to no token.
        outputs = np.empty((len(x) + 1, 2 * self.dim), np.float32)
        halves = outputs[:, : self.dim], outputs[:, self.dim :]
        starts, rows = np.cumsum(lengths) - lengths, np.arange(len(x))
        with self._lock:
            for i, (lstm, half) in enumerate(zip(self._lstms, halves)):
                lstm.run(x, starts, lengths, rows, [half], backward=bool(i))
        return halves[0][:-1] + halves[1][:-1] if self._sums else outputs[:-1]


def keras_lstm(
    kernel: np.ndarray,
    recurrent_kernel: np.ndarray,
    bias: np.ndarray,
    output_kernel: np.ndarray | None = None,
    *,
    steps: Mapping[int, Sequence[int]],
) -> np.ndarray:
    """The `lstm_model` of a Keras LSTM, whose gates are in the order i, f, j, o.

    `output_kernel` `(units, n)` multiplies the outputs.
    """
    order = np.arange(len(bias)).reshape(4, -1)[[0, 2, 1, 3]].ravel()
    kernels = (
        Matrix.from_kernel(kernel[:, order]),
        Matrix.from_kernel(recurrent_kernel[:, order]),
    )
    output = None if output_kernel is None else Matrix.from_kernel(output_kernel)
    layer = LstmLayer(*kernels, bias[order], None)
    return lstm_model([layer], steps, output_kernel=output)


class LiteDense:
    """`x W + b` in int8, of rows that do not change each other.

    Args:
        kernel: `(in, out)`.
        bias: `(out,)`.
    """

    def __init__(self, kernel: np.ndarray, bias: np.ndarray):
        model = Model()
        graph = Graph(model)
        x = graph.input("x", _ROWS, len(kernel))
        y = graph.dense(x, Matrix.from_kernel(kernel), np.asarray(bias, np.float32))
        graph.output("y", y)
        model.add("dense", graph)
        self._x, self._y = aligned(_ROWS, len(kernel)), aligned(_ROWS, len(bias))
        arrays = {"x": self._x, "y": self._y}
        self._run = CompiledModel(model.to_array()).bind("dense", arrays)
        self._lock = threading.Lock()

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


def probe() -> None:
    """Runs a layer by LiteRT's C functions; fails if they are not the known ones."""
    kernel = np.arange(-16, 16, dtype=np.float32).reshape(8, 4)
    x, bias = np.arange(8, dtype=np.float32)[None], np.ones(4, np.float32)
    y = LiteDense(kernel, bias)(x)
    np.testing.assert_allclose(y, x @ kernel + bias, atol=4)  # the sums go up to 260
