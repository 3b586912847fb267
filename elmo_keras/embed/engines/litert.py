"""The vectors of sentences by LiteRT, without TensorFlow."""

from collections.abc import Iterable, Sequence

import numpy as np

from elmo_keras.argument_checks import check_finite
from elmo_keras.embed.engines.engine import Engine
from elmo_keras.lite.engine import LiteElmo
from elmo_keras.lite.scalar_mix import normalize, weighted_sum


class LiteRTEngine(Engine):
    """The biLM of `lite`; `mix` and `gamma` replace those of the file."""

    def __init__(
        self,
        lite: LiteElmo,
        layers: str | int,
        *,
        mix: Sequence[float] | None = None,
        gamma: float | None = None,
        dtype: str = "float32",
        pooling: str | None = None,
        keep_sentence_boundaries: bool = False,
    ):
        super().__init__(lite.config, layers, dtype=dtype, pooling=pooling)
        self.n_boundaries = 2 if keep_sentence_boundaries else 0
        self.mix = dict(lite.metadata["mix"])
        if mix is not None:
            weights = _softmax(mix, self.config.n_layers + 1)
            self.mix = {"mix": weights, "gamma": 1.0, "layer_norm": False}
        if gamma is not None:
            check_finite("The factor of the mix", gamma)
            self.mix["gamma"] = float(gamma)
        self.model = lite.metadata["model"]
        self.arithmetic = f"{lite.metadata['arithmetic']} by LiteRT"
        self.word_vectors = lite.word_vectors
        self.all_layers = lite.layers_of_vectors

    def compute(self, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        layers = self.all_layers(x, lengths, keep_boundaries=bool(self.n_boundaries))
        if self.layers == "all":
            return layers
        if self.layers == "average":
            equal = np.full(len(layers), np.float32(1 / len(layers)))
            return weighted_sum(layers, equal)[None]
        if self.layers == "mix":
            return self.apply_mix(layers)[None]
        index = -1 if isinstance(self.layers, str) else self.layers  # "top"
        return layers[index][None]

    def apply_mix(self, layers: Iterable[np.ndarray]) -> np.ndarray:
        if self.mix["layer_norm"]:
            layers = map(normalize, layers)
        weights = np.float32(self.mix["mix"]) * np.float32(self.mix["gamma"])
        with np.errstate(over="ignore"):  # `embed` refuses what is infinite
            return weighted_sum(layers, weights)


def _softmax(mix, n_layers):
    check_finite("The weights of the mix", mix, 1)
    if len(mix) != n_layers:
        raise ValueError(
            f"The mix should have {n_layers} weights, one for each layer. Received: "
            f"{list(mix)}"
        )
    weights = np.exp(np.float32(mix) - np.max(mix))
    return (weights / weights.sum()).tolist()
