"""The vectors of sentences, whatever computes them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from elmo_keras.config import ElmoConfig

CHOICES = "all", "average", "top", "mix"
POOLINGS = "mean", "max"


class SentenceVectors:
    """The chosen layers of the sentences of a batch, which subclasses compute."""

    model: str  # SHA-256 of the biLM's configuration and weights
    arithmetic: str  # that the numbers are computed in
    mix: dict[str, Any]  # its layers' weights, `gamma` and `layer_norm`, as JSON values
    word_dtype = np.dtype(np.float32)

    def __init__(
        self, config: ElmoConfig, layers: str | int, *, dtype: str, pooling: str | None
    ):
        self.config, self.layers = config, layers
        self.dtype, self.pooling = dtype, pooling
        check_kinds(dtype, pooling)
        allowed = (*CHOICES, *range(config.n_layers + 1))
        if layers not in allowed or type(layers) not in (str, int):
            raise ValueError(
                f"`layers` should be one of {allowed}. Received: {layers!r}"
            )

    def word_vectors(self, words: Sequence[bytes]) -> np.ndarray:
        """Context-independent: `(words, projection_dim)`."""
        raise NotImplementedError

    def flat(self, words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """`(tokens, dim)`, pooled `(sentences, dim)`; with all layers `(layers, …)`.

        Takes the vectors of words, with those of the boundaries around each sentence, and
        the number of each sentence's tokens.
        """
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape of a sentence's vectors; None is the number of tokens."""
        shape = (None, 2 * self.config.projection_dim)
        shape = shape[1:] if self.pooling else shape
        return (self.config.n_layers + 1, *shape) if self.layers == "all" else shape

    def of(self, words: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """The vectors of each sentence of a batch, finite; arguments as in `flat`."""
        result = self.flat(words, lengths)
        if not np.isfinite(result).all():
            raise FloatingPointError(
                f"The vectors are too large for {self.dtype}, by the weights or the "
                "factor of their mix. Give lower ones"
                f"{', or float32' if self.dtype == 'float16' else ''}."
            )
        axis = 1 if self.layers == "all" else 0
        if self.pooling:
            return list(np.moveaxis(result, axis, 0))
        return np.split(result, np.cumsum(lengths)[:-1], axis)


def check_kinds(dtype: str, pooling: str | None) -> None:
    if dtype not in ("float32", "float16"):
        raise ValueError(
            f"`dtype` should be 'float32' or 'float16'. Received: {dtype!r}"
        )
    if pooling not in (None, *POOLINGS):
        raise ValueError(
            f"`pooling` should be None, 'mean' or 'max'. Received: {pooling!r}"
        )
