"""Steps of LSTMs as graphs of LiteRT."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from elmo_keras.lite.graph import Graph, Matrix, Model


class LstmLayer(NamedTuple):
    """One layer in one direction: kernels with a row for each output."""

    kernel: Matrix  # (4 · units, in)
    recurrent_kernel: Matrix  # (4 · units, projection or units)
    bias: np.ndarray  # float32 (4 · units), with the forget gate's; gates i, j, f, o
    projection_kernel: Matrix | None  # (projection, units)


def lstm_model(
    layers: Sequence[LstmLayer], steps: Mapping[int, Sequence[int]], **options: Any
) -> np.ndarray:
    """A flatbuffer with a signature for each number of rows and of steps; see `_add`."""
    model = Model()
    for rows, counts in steps.items():
        for count in counts:
            graph = Graph(model)
            _add(graph, layers, rows, count, **options)
            model.add(f"r{rows}_{count}", graph)
    return model.to_array()


def _add(
    graph,
    layers,
    rows,
    steps,
    *,
    cell_clip=None,
    proj_clip=None,
    skip=False,
    output_kernel=None,
):
    """Some steps of all layers in one direction, for rows that all have tokens.

    Inputs: `x` (steps · rows, in), step by step; `h0`, `c0`, `h1`, …, the state before.
    Outputs: `y0`, `y1`, … (steps · rows, projection) of the layers; `H0`, `C0`, …, the
    state after. With `skip`, the input of each layer but the first is added to its output;
    with `output_kernel` `(n, projection)`, `y0` of the only layer is multiplied by it.
    """
    x = graph.input("x", steps * rows, layers[0].kernel.values.shape[1])
    states = [
        (
            graph.input(f"h{i}", rows, layer.recurrent_kernel.values.shape[1]),
            graph.input(f"c{i}", rows, len(layer.bias) // 4),
        )
        for i, layer in enumerate(layers)
    ]
    for i, (layer, (h, c)) in enumerate(zip(layers, states)):
        # x W of all steps in one product
        inputs = graph.dense(x, layer.kernel, layer.bias)
        outputs = []
        for step in range(steps):
            gates = graph.add(
                graph.rows(inputs, step * rows, rows),
                graph.dense(h, layer.recurrent_kernel),
            )
            h, c = _step(graph, gates, c, layer, cell_clip, proj_clip)
            outputs.append(h)
        y = graph.concatenate(outputs, axis=0)
        x = graph.add(y, x) if skip and i > 0 else y
        if output_kernel is not None:
            x = graph.dense(x, output_kernel)
        for name, tensor in ((f"y{i}", x), (f"H{i}", h), (f"C{i}", c)):
            graph.output(name, tensor)


def _step(graph, gates, c, layer, cell_clip, proj_clip):
    i, j, f, o = graph.split(gates, 4)
    remembered = graph.multiply(graph.sigmoid(f), c)
    new = graph.multiply(graph.sigmoid(i), graph.tanh(j))
    c = graph.clip(graph.add(remembered, new), cell_clip)
    hidden = graph.multiply(graph.sigmoid(o), graph.tanh(c))
    if layer.projection_kernel is None:
        return hidden, c
    return graph.clip(graph.dense(hidden, layer.projection_kernel), proj_clip), c
