"""The vectors of sentences by LiteRT, without TensorFlow."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elmo_keras.argument_checks import check_finite
from elmo_keras.embed.sentence_vectors import SentenceVectors
from elmo_keras.lite.engine import LiteElmo


class LiteVectors(SentenceVectors):
    """The vectors by a `.tflite` file; `layers` can be the weights of a mix."""

    def __init__(
        self,
        path: Path,
        layers: str | int | Sequence[float],
        *,
        gamma: float | None,
        dtype: str,
        pooling: str | None,
        threads: int | None = None,
    ):
        self._lite = LiteElmo(path, threads)
        self.mix = dict(self._lite.about["mix"])
        if isinstance(layers, tuple):
            n_layers = self._lite.config.n_layers + 1
            self.mix = {"mix": _weights(layers, n_layers), "gamma": 1.0}
            self.mix, layers = self.mix | {"layer_norm": False}, "mix"
        if gamma is not None:
            check_finite("The factor of the mix", gamma)
            self.mix["gamma"] = float(gamma)
        super().__init__(self._lite.config, layers, dtype=dtype, pooling=pooling)
        self.model = self._lite.about["model"]
        self.arithmetic = f"{self._lite.about['arithmetic']} by LiteRT"
        self.word_vectors = self._lite.word_vectors
        self.all_layers = self._lite.layers_of_vectors

    def flat(self, words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        vectors = self._chosen(self.all_layers(words, lengths))
        if self.pooling:
            vectors = np.stack([pooled(v, lengths, self.pooling) for v in vectors])
        with np.errstate(over="ignore"):  # `of` refuses what is infinite
            vectors = vectors.astype(self.dtype, copy=False)
        return vectors if self.layers == "all" else vectors[0]

    def _chosen(self, layers):
        if self.layers == "all":
            return layers
        if self.layers == "average":
            mean = np.full(len(layers), np.float32(1 / len(layers)))
            return _sum(layers, mean)[None]
        if self.layers == "mix":
            return self.mixed(layers)[None]
        return layers[[-1 if self.layers == "top" else self.layers]]

    def mixed(self, layers: Sequence[np.ndarray]) -> np.ndarray:
        if self.mix["layer_norm"]:
            layers = [_normalized(h) for h in layers]
        weights = np.float32(self.mix["mix"]) * np.float32(self.mix["gamma"])
        with np.errstate(over="ignore"):  # `of` refuses what is infinite
            return _sum(layers, weights)


def _weights(scalars, n_layers):
    check_finite("The weights of the mix", scalars, 1)
    if len(scalars) != n_layers:
        raise ValueError(
            f"The mix should have {n_layers} weights, one for each layer. Received: "
            f"{list(scalars)}"
        )
    weights = np.exp(np.float32(scalars) - np.max(scalars))
    return (weights / weights.sum()).tolist()


def _sum(layers, weights):
    result = weights[0] * layers[0]
    for weight, layer in zip(weights[1:], layers[1:]):
        result += weight * layer
    return result


def _normalized(x):
    mean = x.mean(axis=1, keepdims=True)
    variance = np.square(x - mean).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + np.float32(1e-12))


def pooled(tokens: np.ndarray, lengths: np.ndarray, pooling: str) -> np.ndarray:
    """The mean or maximum over each sentence's tokens, 0 if it has none."""
    some = np.flatnonzero(lengths)
    result = np.zeros((len(lengths), tokens.shape[1]), np.float32)
    if len(some):
        starts = (np.cumsum(lengths) - lengths)[some]
        reduce = np.add if pooling == "mean" else np.maximum
        result[some] = reduce.reduceat(tokens, starts, axis=0)
    if pooling == "mean":
        result /= np.maximum(lengths, 1)[:, None].astype(np.float32)
    return result
