"""The two graphs of ELMo: words to vectors, and some steps of one LSTM direction."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elmo_keras.config import ElmoConfig
from elmo_keras.lite.graph import Graph, Matrix


class LstmLayer(NamedTuple):
    """One layer in one direction: kernels with a row for each output."""

    kernel: Matrix  # (4 · units, in)
    recurrent_kernel: Matrix  # (4 · units, projection)
    bias: np.ndarray  # float32 (4 · units), with the forget gate's
    projection_kernel: Matrix  # (projection, units)


class TokenLayers(NamedTuple):
    kernels: Sequence[Matrix]  # (count, width, 1, dim), of the n-gram filters
    biases: Sequence[np.ndarray]
    # The carry's and then the transform's rows (2 · filters, filters), and bias.
    highways: Sequence[tuple[Matrix, np.ndarray]]
    projection: tuple[Matrix, np.ndarray] | None  # and its bias


def token_graph(
    graph: Graph,
    layers: TokenLayers,
    config: ElmoConfig,
    *,
    words: int,
    characters: int,
) -> None:
    """The context-independent vectors `y` (words, dim).

    Inputs: `characters`, the vectors (words, characters, 1, dim) of a word's characters,
    and `words` (words, dim), those of words in a dictionary; either is missing where its
    size is 0.
    """
    parts = []
    if config.word_embedding_dim:
        parts.append(graph.input("words", words, config.word_embedding_dim))
    if characters:
        dim = config.char_embedding_dim
        x = graph.input("characters", words, characters, 1, dim)
        highest = [
            graph.maxima(graph.convolution(x, kernel, bias))
            for kernel, bias in zip(layers.kernels, layers.biases)
        ]
        x = getattr(graph, config.activation)(graph.concatenate(highest, axis=1))
        for weights, bias in layers.highways:
            carry, transform = graph.split(graph.dense(x, weights, bias), 2)
            change = graph.subtract(graph.relu(transform), x)
            x = graph.add(x, graph.multiply(graph.sigmoid(carry), change))
        parts.append(x)
    y = graph.concatenate(parts, axis=1)
    if layers.projection is not None:
        y = graph.dense(y, *layers.projection)
    graph.output("y", y)


def lstm_graph(
    graph: Graph,
    layers: Sequence[LstmLayer],
    config: ElmoConfig,
    *,
    rows: int,
    steps: int,
) -> None:
    """Some steps of all layers in one direction, for rows that all have tokens.

    Inputs: `x` (steps · rows, projection), step by step; `h0`, `c0`, `h1`, …, the state
    before. Outputs: `y0`, `y1`, … (steps · rows, projection) of the layers; `H0`, `C0`,
    …, the state after.
    """
    dim = config.projection_dim
    x = graph.input("x", steps * rows, dim)
    states = [
        (graph.input(f"h{i}", rows, dim), graph.input(f"c{i}", rows, config.units))
        for i in range(len(layers))
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
            h, c = _step(graph, gates, c, layer, config)
            outputs.append(h)
        y = graph.concatenate(outputs, axis=0)
        x = graph.add(y, x) if config.use_skip_connections and i > 0 else y
        for name, tensor in ((f"y{i}", x), (f"H{i}", h), (f"C{i}", c)):
            graph.output(name, tensor)


def _step(graph, gates, c, layer, config):
    i, j, f, o = graph.split(gates, 4)
    kept = graph.multiply(graph.sigmoid(f), c)
    new = graph.multiply(graph.sigmoid(i), graph.tanh(j))
    c = graph.clip(graph.add(kept, new), config.cell_clip)
    hidden = graph.multiply(graph.sigmoid(o), graph.tanh(c))
    return graph.clip(graph.dense(hidden, layer.projection_kernel), config.proj_clip), c
