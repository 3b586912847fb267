"""Keras' bidirectional LSTM by compiled graphs, which are made from its weights."""

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from elmo_keras.formats.quantise import quantise
from elmo_keras.lite.graph import Graph, Matrix, Model
from elmo_keras.lite.lstm import LiteLstm
from elmo_keras.lite.lstm_graph import LstmLayer, lstm_graph

# Steps of blocks by the number of their rows.
_STEPS = {1: (8,), 4: (4,), 12: (4,), 32: (4,)}


class LiteBiLstm:
    """Keras' `Bidirectional(LSTM(units, return_sequences=True))` in int8.

    Args:
        directions: the arguments of `lstm_model` for the forward and the backward LSTM.

    With output kernels, a call returns the sum of both directions' products.
    """

    def __init__(self, directions: Sequence[Sequence[np.ndarray]]):
        self._lstms, self._lock = [], threading.Lock()
        for kernel, recurrent_kernel, bias, *output_kernel in directions:
            units = len(bias) // 4
            self.dim = output_kernel[0].shape[1] if output_kernel else units
            model = lstm_model(
                kernel, recurrent_kernel, bias, *output_kernel, steps=_STEPS
            )
            self._lstms.append(
                LiteLstm(model, _STEPS, len(kernel), [(units, units)], self.dim)
            )
            self._sums = bool(output_kernel)

    def __call__(self, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Flat sentences `(tokens, in)` of these lengths → `(tokens, 2 · units)`."""
        # One more row takes what no token needs.
        outputs = np.empty((len(x) + 1, 2 * self.dim), np.float32)
        order = np.argsort(-lengths, kind="stable")
        order = order[: np.count_nonzero(lengths)]
        starts = np.cumsum(lengths) - lengths
        with self._lock:
            self._run(x, lengths, order, starts, outputs)
        outputs = outputs[:-1]
        return (
            outputs[:, : self.dim] + outputs[:, self.dim :] if self._sums else outputs
        )

    def _run(self, x, lengths, order, starts, outputs):
        for i, lstm in enumerate(self._lstms):
            half = outputs[:, i * self.dim : (i + 1) * self.dim]
            for first in range(0, len(order), lstm.max_rows):
                sentences = order[first : first + lstm.max_rows]
                counts, begin = lengths[sentences], starts[sentences]
                step = np.arange(counts[0])[:, None]
                tokens = begin + (counts - 1 - step if i else step)
                real = step < counts
                sources = np.where(real, tokens, 0)
                lstm.run(x, sources, np.where(real, tokens, len(x)), counts, [half])


def lstm_model(
    kernel: np.ndarray,
    recurrent_kernel: np.ndarray,
    bias: np.ndarray,
    output_kernel: np.ndarray | None = None,
    *,
    steps: Mapping[int, Sequence[int]],
) -> np.ndarray:
    """The bytes of a Keras LSTM, with a signature for each number of rows and of steps.

    The gates are in Keras' order i, f, j, o. `output_kernel` `(units, n)` multiplies the
    outputs.
    """
    model = Model()
    order = np.arange(len(bias)).reshape(4, -1)[[0, 2, 1, 3]].ravel()
    kernels = _matrix(kernel[:, order]), _matrix(recurrent_kernel[:, order])
    layer = LstmLayer(*kernels, bias[order], None)
    output = None if output_kernel is None else _matrix(output_kernel)
    for rows, counts in steps.items():
        for count in counts:
            graph = Graph(model)
            lstm_graph(graph, [layer], rows, count, output_kernel=output)
            model.add(f"r{rows}_{count}", graph)
    return np.frombuffer(model.to_bytes(), np.uint8)


def _matrix(kernel):
    values, scales = quantise(np.ascontiguousarray(kernel.T), 1)
    return Matrix(values, scales.reshape(-1))
