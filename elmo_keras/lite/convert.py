"""From published weights to a `.tflite` file: words to vectors, and steps of the LSTMs."""

import functools
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.published import (
    check_weights,
    digest,
    finite,
    finite_values,
    published_rows,
)
from elmo_keras.lite.engine import LiteElmo
from elmo_keras.lite.graph import Graph, Matrix, Model
from elmo_keras.lite.lite_file import ARITHMETICS, MIN_COSINE, LiteFile
from elmo_keras.lite.lstm_graph import LstmLayer, lstm_model
from elmo_keras.lite.scalar_mix import mix_values
from elmo_keras.text.word_ids import boundary_tokens

# Steps of LSTM blocks by the number of their rows, the longest first; sizes of token graphs,
# words and characters. Between two of them the next larger one is run, with rows that nobody
# reads.
STEPS = (
    {1: (8, 4)}
    | dict.fromkeys((2, 4, 8), (4,))
    | dict.fromkeys((12, 16, 20, 24, 32), (2,))
)
WORDS = 1, 4, 16, 32
CHARACTERS = 16, 20, 28
SIZES = {"steps": STEPS, "words": WORDS, "characters": CHARACTERS}
# Sizes of the float32 graphs that int8 is compared with.
_CHECKED_SIZES = {"steps": {12: (4,)}, "words": (32,), "characters": CHARACTERS[:1]}

# Mean cosine of int8 to exact vectors of a layer, below which a warning is given.
GOOD_COSINE = 0.995
# Where int8 isn't good enough, a matrix of a larger error stays float32; most have 0.013.
_MAX_ERROR = 0.015
_SENTENCES = (
    "She walked along the bank of the river until the rain stopped .",
    "The bank raised its rates again , and nobody knew why ( or asked ) .",
    '" Did you see the play ? " he said ; " it was n\'t what we had expected . "',
    "In 1994 , about 3,500 people lived on the island , most of them fishermen .",
    "Light travels through glass more slowly than through air or water .",
    "A committee of seven members chose Anna Lind as the head of the school .",
    "Please send the report to Mr. Baker by Friday , not later than 5 p.m. .",
    "그는 강가를 따라 천천히 걸었다 .",
    "이 배는 내일 아침 부산으로 떠난다 .",
)


def convert(
    config: ElmoConfig,
    datasets: Mapping[str, Any],
    arithmetic: str = "int8",
    *,
    mix: Mapping[str, Any] | None = None,
    min_cosine: float = MIN_COSINE,
    source: str | None = None,
    sizes: Mapping[str, Any] = SIZES,
) -> LiteFile:
    """A biLM and a mix of its layers for `write_lite` and `LiteElmo`, without TensorFlow.

    With `"int8"` weights have a scale for each output, and inputs of matrix products are
    quantised row by row, when they are known. Vectors of some sentences are compared with
    those in float32: if they aren't good enough, matrices with outliers stay in float32.
    `datasets` are the weights by their published names, see `ModelFiles.datasets` and
    `formats.variables.published_arrays`; `mix` the values of a `ScalarMix`, by default
    equal weights. `source` is a hash of the model's files. `sizes` are the sizes of the
    graphs, as in `SIZES`; words with the maximum of characters always have a graph.

    Returns:
        The parts of the file. With int8, `cosines` in its metadata are the mean cosines of
        each layer's vectors to those in float32.

    Raises:
        ValueError: the lowest mean cosine is below `min_cosine`, or a weight isn't finite.
    """
    check_choices(ARITHMETICS, arithmetic=arithmetic)
    check_weights(config, datasets)
    # int8 would make NaN an ordinary number.
    arrays = {n: finite_values(n, datasets[n]) for n in published_rows(config)}
    mix, cosines = mix or mix_values(config.n_layers + 1), []
    finite("mix", np.array([*mix["mix"], mix["gamma"]]))
    metadata = {"model": digest(config, arrays), "mix": dict(mix)}
    make_file = functools.partial(
        _lite_file, config, arrays, _matrices(config, arrays), metadata
    )
    is_int8 = arithmetic == "int8"
    file = make_file(sizes, math.inf if is_int8 else 0)
    lite = LiteElmo(file)  # refuses what it can't run
    if is_int8:
        exact = LiteElmo(make_file(_CHECKED_SIZES, 0))
        cosines = _cosines(lite, exact)
        if min(cosines) < GOOD_COSINE:
            file = make_file(sizes, _MAX_ERROR)
            cosines = _cosines(LiteElmo(file), exact)
        _check_cosines(cosines, min_cosine)
    more = {"cosines": cosines, "source": source}
    return file._replace(metadata={**file.metadata, **more})


def _matrices(config, arrays):
    """All matrices in float32, with a row for each output."""
    kernels = {
        f"CNN/W_cnn_{i}": arrays[f"CNN/W_cnn_{i}"][0][:, None]
        for i in range(len(config.filters))
    }
    for i in range(config.n_highway):
        gates = [arrays[f"CNN_high_{i}/W_{gate}"] for gate in ("carry", "transform")]
        kernels[f"CNN_high_{i}"] = np.concatenate(gates, axis=1)
    for name, array in arrays.items():
        if name.endswith("/W_0"):
            parts = np.split(array, [config.projection_dim])
            kernels |= zip((f"{name}/x", f"{name}/h"), parts)
        if name.endswith(("/W_P_0", "/W_proj")):
            kernels[name] = array
    return {name: Matrix.from_kernel(kernel, 0) for name, kernel in kernels.items()}


def _lite_file(config, arrays, matrices, metadata, sizes, max_error):
    """The file; matrices are int8 up to an error, by 0 all are float32."""
    matrices = {n: matrix.quantised(max_error) for n, matrix in matrices.items()}
    sizes = {
        "steps": sizes["steps"],
        "words": list(sizes["words"]),
        "characters": _characters(config, sizes["characters"]),
    }
    graphs = {}
    for d, direction in enumerate(("forward", "backward")):
        graphs[direction] = lstm_model(
            [
                _lstm_layer(config, arrays, matrices, d, j)
                for j in range(config.n_layers)
            ],
            sizes["steps"],
            cell_clip=config.cell_clip,
            proj_clip=config.proj_clip,
            skip=config.use_skip_connections,
        )
    graphs["tokens"] = _token_model(config, arrays, matrices, sizes)
    metadata = {
        "config": config.to_dict(),
        "arithmetic": "int8" if max_error else "float32",
        **metadata,
        **sizes,
    }
    return LiteFile(metadata, graphs, _tables(config, arrays))


def _cosines(lite, exact):
    """Mean cosine of each layer to that in float32."""
    begin, end = boundary_tokens(lite.config)
    sentences = [sentence.split() for sentence in _SENTENCES]
    lengths = np.array([len(sentence) for sentence in sentences], np.int32)
    words = [word.encode() for s in sentences for word in (begin, *s, end)]
    layers = [
        engine.layers_of_vectors(engine.word_vectors(words), lengths)
        for engine in (lite, exact)
    ]
    cosines = []
    for a, b in zip(*layers):
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        cosines.append(float(np.mean(((a * b).sum(1) + 1e-12) / (norms + 1e-12))))
    return cosines


def _check_cosines(cosines, min_cosine):
    by_layer = " ".join(f"{cosine:.5f}" for cosine in cosines)
    if not np.min(cosines) >= min_cosine:  # this is true for NaN, too
        raise ValueError(
            "Vectors in int8 should have a mean cosine to the exact ones of at least "
            f"{min_cosine} in each layer. Found: {by_layer}. Use float32, or `elmo-keras "
            "export --format litert` with a lower --min-cosine."
        )
    if min(cosines) < GOOD_COSINE:
        message = f"int8 loses accuracy: mean cosines to the exact vectors {by_layer}."
        warnings.warn(f"{message} Use float32 where that matters.", stacklevel=3)


def _lstm_layer(config, arrays, matrices, direction, layer):
    cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
    bias, units = np.array(arrays[f"{cell}/B"]), config.units
    bias[2 * units : 3 * units] += config.forget_bias
    kernels = matrices[f"{cell}/W_0/x"], matrices[f"{cell}/W_0/h"]
    return LstmLayer(*kernels, bias, matrices.get(f"{cell}/W_P_0"))


def _characters(config, sizes):
    """Counts of characters that words are padded to; 0 for words without."""
    if not config.has_characters:
        return (0,)
    longest = config.max_characters_per_token
    widest = max(width for width, _ in config.filters)
    return *(c for c in sizes if widest <= c < longest), longest


def _token_model(config, arrays, matrices, sizes):
    """Graphs that give the context-independent vectors `y` (words, dim).

    Inputs: `characters`, the vectors (words, characters, 1, dim) of a word's characters,
    and `words` (words, dim), those of words in a dictionary; either may be missing.
    """
    convolutions = [
        (matrices[f"CNN/W_cnn_{i}"], arrays[f"CNN/b_cnn_{i}"])
        for i in range(len(config.filters))
    ]
    highways = []
    for i in range(config.n_highway):
        biases = [arrays[f"CNN_high_{i}/b_{gate}"] for gate in ("carry", "transform")]
        highways.append((matrices[f"CNN_high_{i}"], np.concatenate(biases)))
    projection: tuple[Matrix, np.ndarray] | None = None
    if config.has_projection:
        projection = matrices["CNN_proj/W_proj"], arrays["CNN_proj/b_proj"]
    model = Model()
    for rows in sizes["words"]:
        for count in sizes["characters"]:
            graph = Graph(model)
            parts = []
            if config.word_embedding_dim:
                parts.append(graph.input("words", rows, config.word_embedding_dim))
            if count:
                dim = config.char_embedding_dim
                x = graph.input("characters", rows, count, 1, dim)
                parts.append(
                    _represent_characters(graph, config, x, convolutions, highways)
                )
            y = graph.concatenate(parts, axis=1)
            graph.output("y", graph.dense(y, *projection) if projection else y)
            model.add(f"w{rows}_{count}", graph)
    return model.to_array()


def _represent_characters(graph, config, x, convolutions, highways):
    highest = [
        graph.maxima(graph.convolution(x, kernel, bias))
        for kernel, bias in convolutions
    ]
    activate = graph.tanh if config.activation == "tanh" else graph.relu
    x = activate(graph.concatenate(highest, axis=1))
    for weights, bias in highways:
        carry, transform = graph.split(graph.dense(x, weights, bias), 2)
        change = graph.subtract(graph.relu(transform), x)
        x = graph.add(x, graph.multiply(graph.sigmoid(carry), change))
    return x


def _tables(config, arrays):
    """The vectors of characters and of words."""
    tables = {}
    if config.has_characters:
        # Row 0 is a masked position.
        tables["characters"] = np.pad(arrays["char_embed"], [(1, 0), (0, 0)])
    if config.word_embedding_dim:
        name = "embedding" if config.is_of_tokens else "word_embed"
        tables["words"] = arrays[name]
    return tables
