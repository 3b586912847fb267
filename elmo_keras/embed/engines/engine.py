"""The base of the engines, which compute the vectors of sentences."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from elmo_keras.config import ElmoConfig

LITE = ".tflite"  # suffix of a file for LiteRT
LAYERS = "mix", "average", "top", "all"
Pooling = Literal["mean", "max"]


class Engine:
    """The chosen layers of the sentences of a batch, which subclasses compute."""

    model: str  # SHA-256 of the biLM's configuration and weights
    arithmetic: str
    mix: dict[str, Any]  # its layers' weights, `gamma` and `layer_norm`, as JSON values
    word_dtype = np.dtype(np.float32)
    ahead = False  # whether the next batch is made while a batch is computed

    def __init__(
        self,
        config: ElmoConfig,
        layers: str | int,
        *,
        dtype: str = "float32",
        pooling: str | None = None,
        keep_sentence_boundaries: bool = False,
    ):
        self.config, self.layers = config, layers
        self.dtype, self.pooling = dtype, pooling
        self.n_boundaries = 2 if keep_sentence_boundaries else 0
        allowed = (*LAYERS, *range(config.n_layers + 1))
        if type(layers) not in (str, int) or layers not in allowed:
            raise ValueError(
                f"`layers` should be one of {allowed}. Received: {layers!r}"
            )

    def word_vectors(self, words: Sequence[bytes]) -> np.ndarray:
        """Context-independent vectors `(words, projection_dim)`."""
        raise NotImplementedError

    def compute(self, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The chosen layer, or all: `(1 or layers, tokens + boundaries, dim)`.

        Takes the vectors of words, with those of the boundaries around each sentence,
        and how many tokens each sentence has.
        """
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape of a sentence's vectors; None is the number of tokens."""
        shape = (None, 2 * self.config.projection_dim)
        shape = shape[1:] if self.pooling else shape
        return (self.config.n_layers + 1, *shape) if self.layers == "all" else shape

    def embed(self, x: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """The vectors of each sentence of a batch, finite; arguments as in `compute`."""
        vectors = self.compute(x, lengths)
        lengths = lengths + self.n_boundaries
        if self.pooling:
            vectors = np.stack([pool(h, lengths, self.pooling) for h in vectors])
        with np.errstate(over="ignore"):  # refused below
            vectors = vectors.astype(self.dtype, copy=False)
        if not np.isfinite(vectors).all():
            remedy = ", or float32" if self.dtype == "float16" else ""
            raise FloatingPointError(
                f"The vectors are too large for {self.dtype} by the weights or factor of "
                f"their mix. Give lower ones{remedy}."
            )
        axis = int(self.layers == "all")
        vectors = vectors if axis else vectors[0]
        if self.pooling:
            return list(np.moveaxis(vectors, axis, 0))
        return np.split(vectors, np.cumsum(lengths)[:-1], axis)


def pool(tokens: np.ndarray, lengths: np.ndarray, pooling: str) -> np.ndarray:
    """The mean or maximum over each sentence's tokens, 0 if it has none."""
    filled = np.flatnonzero(lengths)
    result = np.zeros((len(lengths), tokens.shape[1]), np.float32)
    if len(filled):
        starts = (np.cumsum(lengths) - lengths)[filled]
        reduce = np.maximum if pooling == "max" else np.add
        result[filled] = reduce.reduceat(tokens, starts, axis=0)
    if pooling == "mean":
        result /= np.maximum(lengths, 1)[:, None].astype(np.float32)
    return result
