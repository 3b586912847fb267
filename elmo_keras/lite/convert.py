"""From an `Elmo` layer to a `.tflite` file: words to vectors, and steps of the LSTMs."""

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.argument_checks import check_choices
from elmo_keras.elmo import Elmo
from elmo_keras.formats.published import finite
from elmo_keras.layers.blocked_weights import unblock
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.lite.engine import LiteElmo
from elmo_keras.lite.graph import Graph, Matrix, Model
from elmo_keras.lite.lite_file import ARITHMETICS, MIN_COSINE, LiteFile, write_lite
from elmo_keras.lite.lstm_graph import LstmLayer, lstm_model
from elmo_keras.text.word_ids import boundary_tokens

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

# Mean cosine of int8 to exact vectors of a layer, below which a warning is given.
GOOD_COSINE = 0.995
# Of a matrix in int8 where others aren't good enough; without outliers it has 0.013.
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
    elmo: Elmo,
    path: Path,
    arithmetic: str = "int8",
    *,
    min_cosine: float = MIN_COSINE,
    source: str | None = None,
    mix: ScalarMix | None = None,
    steps: Mapping[int, Sequence[int]] = STEPS,
    words: Sequence[int] = WORDS,
    characters: Sequence[int] = CHARACTERS,
) -> list[float]:
    """Writes the biLM and a mix, by default the first, of an `Elmo` layer as a `.tflite` file.

    With `"int8"` weights have a scale for each output, and inputs of matrix products are
    quantised row by row, when they are known. Vectors of some sentences are compared with
    those of the layer: if they aren't good enough, matrices with outliers stay in float32.
    `source` is a hash of the model's files. `steps` are those of LSTM blocks by the number
    of their rows, the longest first; `words` and `characters` the sizes of token graphs,
    where words of the model's maximum of characters always have one.

    Returns:
        With `"int8"` the mean cosine of each layer's vectors to the exact ones.

    Raises:
        ValueError: the lowest mean cosine is below `min_cosine`, or a weight isn't finite.
    """
    check_choices(ARITHMETICS, arithmetic=arithmetic)
    sizes = {
        "steps": steps,
        "words": list(words),
        "characters": _characters(elmo.config, characters),
    }
    mix, cosines = mix or elmo.mixes[0], []
    for weight in (*elmo.bilm.weights, *mix.weights):
        finite(weight.path, _numpy(weight))  # int8 would make NaN an ordinary number
    file = _lite_file(elmo, mix, sizes, math.inf if arithmetic == "int8" else 0)
    lite = LiteElmo(file)  # refuses what it can't run
    if arithmetic == "int8":
        cosines = _cosines(elmo, lite)
        if min(cosines) < GOOD_COSINE:
            file = _lite_file(elmo, mix, sizes, _MAX_ERROR)
            cosines = _cosines(elmo, LiteElmo(file))
        _check_cosines(cosines, min_cosine)
    metadata = {"cosines": cosines, "source": source}
    write_lite(path, file._replace(metadata={**file.metadata, **metadata}))
    return cosines


def _lite_file(elmo, mix, sizes, max_error):
    """The file; matrices are int8 up to an error, by 0 all are float32."""
    config, bilm = elmo.config, elmo.bilm
    graphs = {}
    for direction in (bilm.lstm.forward, bilm.lstm.backward):
        graphs[direction.name] = lstm_model(
            [_lstm_layer(config, lstm, max_error) for lstm in direction.lstms],
            sizes["steps"],
            cell_clip=config.cell_clip,
            proj_clip=config.proj_clip,
            skip=config.use_skip_connections,
        )
    graphs["tokens"] = _token_model(config, bilm.token_representation, max_error, sizes)
    metadata: dict[str, Any] = {
        "config": config.to_dict(),
        "arithmetic": "int8" if max_error else "float32",
        "model": elmo.bilm.digest(),
        "mix": mix.values(),
        **sizes,
    }
    return LiteFile(metadata, graphs, _arrays(bilm))


def _cosines(elmo, lite):
    """Mean cosine of each layer to that of the `Elmo` layer."""
    begin, end = boundary_tokens(elmo.config)
    sentences = [sentence.split() for sentence in _SENTENCES]
    lengths = np.array([len(sentence) for sentence in sentences], np.int32)
    words = [word.encode() for s in sentences for word in (begin, *s, end)]
    int8 = lite.layers_of_vectors(lite.word_vectors(words), lengths)
    x = elmo.bilm.token_vectors(tf.constant(words))
    exact = elmo.bilm.layers_of_sentences(x, lengths)
    cosines = []
    for a, b in zip(int8, exact):
        b = b.numpy().astype(np.float32)
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        cosines.append(float(np.mean(((a * b).sum(1) + 1e-12) / (norms + 1e-12))))
    return cosines


def _check_cosines(cosines, min_cosine):
    by_layer = " ".join(f"{cosine:.5f}" for cosine in cosines)
    if not np.min(cosines) >= min_cosine:  # also if one is NaN
        raise ValueError(
            "Vectors in int8 should have a mean cosine to the exact ones of at least "
            f"{min_cosine} in each layer. Found: {by_layer}. Use float32, or `elmo-keras "
            "export --format litert` with a lower --min-cosine."
        )
    if min(cosines) < GOOD_COSINE:
        message = f"int8 loses accuracy: mean cosines to the exact vectors {by_layer}."
        warnings.warn(f"{message} Use float32 where that matters.", stacklevel=3)


def _lstm_layer(config, lstm, max_error):
    bias = _numpy(lstm.bias).astype(np.float32)
    units, projection = len(bias) // 4, lstm.projection_kernel
    bias[2 * units : 3 * units] += config.forget_bias
    return LstmLayer(
        Matrix.of(_numpy(lstm.kernel), max_error),
        Matrix.of(_numpy(unblock(lstm.recurrent_kernel)), max_error),
        bias,
        None
        if projection is None
        else Matrix.of(_numpy(unblock(projection)), max_error),
    )


def _characters(config, sizes):
    """Counts of characters that words are padded to; 0 for words without."""
    if not config.has_characters:
        return (0,)
    longest = config.max_characters_per_token
    widest = max(width for width, _ in config.filters)
    return *(c for c in sizes if widest <= c < longest), longest


def _token_model(config, cnn, max_error, sizes):
    """Graphs that give the context-independent vectors `y` (words, dim).

    Inputs: `characters`, the vectors (words, characters, 1, dim) of a word's characters,
    and `words` (words, dim), those of words in a dictionary; either may be missing.
    """
    convolutions = [
        (Matrix.of(_numpy(kernel)[:, None], max_error), _numpy(bias))
        for kernel, bias in zip(cnn.kernels, cnn.biases)
    ]
    highways = []
    for highway in cnn.highways:
        kernels = highway.carry_kernel, highway.transform_kernel
        biases = highway.carry_bias, highway.transform_bias
        weights = np.concatenate([_numpy(k) for k in kernels], axis=1)
        bias = np.concatenate([_numpy(b) for b in biases])
        highways.append((Matrix.of(weights, max_error), bias))
    projection: tuple[Matrix, np.ndarray] | None = None
    if cnn.projection is not None:
        bias = _numpy(cnn.projection.bias)
        projection = Matrix.of(_numpy(cnn.projection.kernel), max_error), bias
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
                parts.append(_of_characters(graph, config, x, convolutions, highways))
            y = graph.concatenate(parts, axis=1)
            graph.output("y", graph.dense(y, *projection) if projection else y)
            model.add(f"w{rows}_{count}", graph)
    return model.to_array()


def _of_characters(graph, config, x, convolutions, highways):
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


def _arrays(bilm):
    cnn, arrays = bilm.token_representation, {}
    if cnn.filters:
        # Row 0 is a masked position.
        arrays["characters"] = np.pad(_numpy(cnn.embeddings), [(1, 0), (0, 0)])
    if cnn.n_words:
        arrays["words"] = _numpy(cnn.word_embeddings)
    return arrays


def _numpy(variable) -> np.ndarray:
    return np.asarray(variable, np.float32)
