"""From an `Elmo` layer to a `.tflite` file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.elmo import Elmo, model_digest
from elmo_keras.formats.packed import quantise
from elmo_keras.layers.blocked_weights import plain
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.lite.graph import Graph, Matrix, Model
from elmo_keras.lite.graphs import LstmLayer, TokenLayers, lstm_graph, token_graph
from elmo_keras.lite.lite_file import ARITHMETICS, LiteFile, write_lite
from elmo_keras.lite.runtime import compile_model

# Steps of LSTM blocks by the number of their rows; words and characters of a token
# graph. Between two of them the next larger one is run, with rows that nobody reads.
STEPS = (
    {1: (8, 4)}
    | dict.fromkeys((2, 4, 8), (4,))
    | dict.fromkeys((12, 16, 20, 24, 32), (2,))
)
WORDS = 1, 4, 16, 32
CHARACTERS = 16, 20, 28


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
    characters = _characters(config, characters)
    models = {}
    for direction in (bilm.lstm.forward, bilm.lstm.backward):
        layers = [_lstm_layer(config, lstm, int8) for lstm in direction.lstms]
        models[direction.name] = _lstm_model(config, layers, steps)
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
        compile_model(graph)  # refuses what it can't run
    write_lite(path, LiteFile(metadata, graphs, _arrays(bilm)))


def _lstm_layer(config, lstm, int8):
    bias = _numpy(lstm.bias).astype(np.float32)
    units = len(bias) // 4
    bias[2 * units : 3 * units] += config.forget_bias
    return LstmLayer(
        _matrix(_numpy(lstm.kernel), int8),
        _matrix(_numpy(plain(lstm.recurrent_kernel)), int8),
        bias,
        _matrix(_numpy(plain(lstm.projection_kernel)), int8),
    )


def _lstm_model(config, layers, sizes):
    model = Model()
    for rows, steps in ((r, s) for r, counts in sizes.items() for s in counts):
        graph = Graph(model)
        lstm_graph(graph, layers, config, rows=rows, steps=steps)
        model.add(f"r{rows}_{steps}", graph)
    return model


def _token_model(config, cnn, int8, words, characters):
    layers = TokenLayers(
        kernels=[_matrix(_numpy(k)[:, None], int8) for k in cnn.kernels],
        biases=[_numpy(b) for b in cnn.biases],
        highways=[_highway(highway, int8) for highway in cnn.highways],
        projection=None if cnn.projection is None else _dense(cnn.projection, int8),
    )
    model = Model()
    for rows in words:
        for count in characters:
            graph = Graph(model)
            token_graph(graph, layers, config, words=rows, characters=count)
            model.add(f"w{rows}_{count}", graph)
    return model


def _characters(config, sizes):
    """Counts of characters that words are padded to; 0 for words without."""
    if not config.has_characters:
        return (0,)
    longest = config.max_characters_per_token
    widest = max(width for width, _ in config.filters)
    return *(c for c in sizes if widest <= c < longest), longest


def _highway(highway, int8):
    kernels = highway.carry_kernel, highway.transform_kernel
    biases = highway.carry_bias, highway.transform_bias
    weights = np.concatenate([_numpy(k) for k in kernels], axis=1)
    return _matrix(weights, int8), np.concatenate([_numpy(b) for b in biases])


def _dense(dense, int8):
    return _matrix(_numpy(dense.kernel), int8), _numpy(dense.bias)


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
