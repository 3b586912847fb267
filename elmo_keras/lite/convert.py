"""From an `Elmo` layer to a `.tflite` file: words to vectors, and steps of the LSTMs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.elmo import Elmo, model_digest
from elmo_keras.formats.packed import quantise
from elmo_keras.layers.blocked_weights import plain
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.lite.graph import Graph, Matrix, Model
from elmo_keras.lite.lite_file import ARITHMETICS, LiteFile, write_lite
from elmo_keras.lite.runtime import CompiledModel

# Steps of LSTM blocks by the number of their rows, the longest first; words and characters
# of a token graph. Between two of them the next larger one is run, with rows that nobody
# reads.
STEPS = (
    {1: (8, 4)}
    | dict.fromkeys((2, 4, 8), (4,))
    | dict.fromkeys((12, 16, 20, 24, 32), (2,))
)
WORDS = 1, 4, 16, 32
CHARACTERS = 16, 20, 28


class LstmLayer(NamedTuple):
    """One layer in one direction: kernels with a row for each output."""

    kernel: Matrix  # (4 · units, in)
    recurrent_kernel: Matrix  # (4 · units, projection)
    bias: np.ndarray  # float32 (4 · units), with the forget gate's
    projection_kernel: Matrix | None  # (projection, units)


def convert(
    elmo: Elmo,
    path: Path,
    arithmetic: str = "int8",
    *,
    mix: ScalarMix | None = None,
    steps: Mapping[int, Sequence[int]] = STEPS,
    words: Sequence[int] = WORDS,
    characters: Sequence[int] = CHARACTERS,
) -> None:
    """Writes the biLM and a mix, by default the first, of an `Elmo` layer as a `.tflite` file.

    With `"int8"` weights have a scale for each output, and inputs of matrix products are
    quantised row by row, when they are known. `steps` are those of LSTM blocks by the number
    of their rows, the longest first; `words` and `characters` the sizes of token graphs,
    where words of the model's maximum of characters always have one.
    """
    if arithmetic not in ARITHMETICS:
        raise ValueError(
            f"`arithmetic` should be one of {ARITHMETICS}. Received: {arithmetic!r}"
        )
    int8 = arithmetic == "int8"
    config, bilm = elmo.config, elmo.bilm
    models = {}
    for direction in (bilm.lstm.forward, bilm.lstm.backward):
        layers = [_lstm_layer(config, lstm, int8) for lstm in direction.lstms]
        models[direction.name] = model = Model()
        for rows, count in ((r, n) for r, counts in steps.items() for n in counts):
            graph = Graph(model)
            _lstm_graph(graph, config, layers, rows, count)
            model.add(f"r{rows}_{count}", graph)
    characters = _characters(config, characters)
    cnn = bilm.token_representation
    models["tokens"] = _token_model(config, cnn, int8, words, characters)
    metadata = {
        "config": config.to_dict(),
        "arithmetic": arithmetic,
        "model": model_digest(elmo),
        "mix": (mix or elmo.mixes[0]).values(),
        "steps": steps,
        "words": words,
        "characters": characters,
    }
    graphs = {k: np.frombuffer(m.to_bytes(), np.uint8) for k, m in models.items()}
    for graph in graphs.values():
        CompiledModel(graph)  # refuses what it can't run
    write_lite(path, LiteFile(metadata, graphs, _arrays(bilm)))


def _lstm_layer(config, lstm, int8):
    bias = _numpy(lstm.bias).astype(np.float32)
    units, projection = len(bias) // 4, lstm.projection_kernel
    bias[2 * units : 3 * units] += config.forget_bias
    return LstmLayer(
        _matrix(_numpy(lstm.kernel), int8),
        _matrix(_numpy(plain(lstm.recurrent_kernel)), int8),
        bias,
        None if projection is None else _matrix(_numpy(plain(projection)), int8),
    )


def _lstm_graph(graph, config, layers, rows, steps):
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
            h, c = _step(graph, config, gates, c, layer)
            outputs.append(h)
        y = graph.concatenate(outputs, axis=0)
        x = graph.add(y, x) if config.use_skip_connections and i > 0 else y
        for name, tensor in ((f"y{i}", x), (f"H{i}", h), (f"C{i}", c)):
            graph.output(name, tensor)


def _step(graph, config, gates, c, layer):
    i, j, f, o = graph.split(gates, 4)
    kept = graph.multiply(graph.sigmoid(f), c)
    new = graph.multiply(graph.sigmoid(i), graph.tanh(j))
    c = graph.clip(graph.add(kept, new), config.cell_clip)
    hidden = graph.multiply(graph.sigmoid(o), graph.tanh(c))
    if layer.projection_kernel is None:
        return hidden, c
    return graph.clip(graph.dense(hidden, layer.projection_kernel), config.proj_clip), c


def _characters(config, sizes):
    """Counts of characters that words are padded to; 0 for words without."""
    if not config.has_characters:
        return (0,)
    longest = config.max_characters_per_token
    widest = max(width for width, _ in config.filters)
    return *(c for c in sizes if widest <= c < longest), longest


def _token_model(config, cnn, int8, words, characters):
    """Graphs that give the context-independent vectors `y` (words, dim).

    Inputs: `characters`, the vectors (words, characters, 1, dim) of a word's characters,
    and `words` (words, dim), those of words in a dictionary; either may be missing.
    """
    convolutions = [
        (_matrix(_numpy(kernel)[:, None], int8), _numpy(bias))
        for kernel, bias in zip(cnn.kernels, cnn.biases)
    ]
    highways = []
    for highway in cnn.highways:
        kernels = highway.carry_kernel, highway.transform_kernel
        biases = highway.carry_bias, highway.transform_bias
        weights = np.concatenate([_numpy(k) for k in kernels], axis=1)
        bias = np.concatenate([_numpy(b) for b in biases])
        highways.append((_matrix(weights, int8), bias))
    projection: tuple[Matrix, np.ndarray] | None = None
    if cnn.projection is not None:
        bias = _numpy(cnn.projection.bias)
        projection = _matrix(_numpy(cnn.projection.kernel), int8), bias
    model = Model()
    for rows in words:
        for count in characters:
            graph = Graph(model)
            parts = []
            if config.word_embedding_dim:
                parts.append(graph.input("words", rows, config.word_embedding_dim))
            if count:
                dim = config.char_embedding_dim
                x = graph.input("characters", rows, count, 1, dim)
                parts.append(_of_characters(graph, config, x, convolutions, highways))
            y = graph.concatenate(parts, axis=1)
            graph.output("y", graph.dense(y, *projection) if projection else y)
            model.add(f"w{rows}_{count}", graph)
    return model


def _of_characters(graph, config, x, convolutions, highways):
    highest = [
        graph.maxima(graph.convolution(x, kernel, bias))
        for kernel, bias in convolutions
    ]
    x = getattr(graph, config.activation)(graph.concatenate(highest, axis=1))
    for weights, bias in highways:
        carry, transform = graph.split(graph.dense(x, weights, bias), 2)
        change = graph.subtract(graph.relu(transform), x)
        x = graph.add(x, graph.multiply(graph.sigmoid(carry), change))
    return x


def _arrays(bilm):
    cnn, arrays = bilm.token_representation, {}
    if cnn.filters:
        # Row 0 is a masked position.
        arrays["characters"] = np.pad(_numpy(cnn.embeddings), [(1, 0), (0, 0)])
    if cnn.n_words:
        arrays["words"] = _numpy(cnn.word_embeddings)
    return arrays


def _matrix(kernel, int8):
    """A kernel (…, outputs) as a matrix with a row for each output."""
    rows = np.ascontiguousarray(np.moveaxis(kernel, -1, 0))
    if not int8:
        return Matrix(rows, None)
    values, scales = quantise(rows, tuple(range(1, rows.ndim)))
    return Matrix(values, scales.reshape(-1))


def _numpy(variable) -> np.ndarray:
    return np.asarray(variable, np.float32)
