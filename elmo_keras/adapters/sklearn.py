"""ELMo as a transformer of scikit-learn; needs `pip install scikit-learn`."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.engines.engine import Pooling
from elmo_keras.text.sentences import Sentence


class ElmoVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """One ELMo vector of each text, for pipelines and searches over parameters.

    A text is a `str`, or a list of its tokens. `fit` reads the model and learns nothing.
    A pickle holds the path of the model, not its weights.

    Args:
        model, layers, mix, gamma, pooling, arithmetic, tokenizer: see `Embedder`. `"en"`
            comes with the package, `dim` is 256.
            `layers="all"` puts the vectors of all layers side by side.
        normalize: whether each vector is divided by its Euclidean length.

    Attributes:
        embedder_: the `Embedder`.
    """

    def __init__(
        self,
        model: str | Path = "en",
        *,
        layers: str | int = "mix",
        mix: Sequence[float] | None = None,
        gamma: float | None = None,
        pooling: str = "mean",
        normalize: bool = False,
        arithmetic: str | None = None,
        tokenizer: str | Callable[[str], Sequence[str]] | None = None,
    ):
        self.model = model
        self.layers = layers
        self.mix = mix
        self.gamma = gamma
        self.pooling = pooling
        self.normalize = normalize
        self.arithmetic = arithmetic
        self.tokenizer = tokenizer

    def fit(self, X: Any = None, y: Any = None) -> "ElmoVectorizer":
        """Reads the model; `X` and `y` have no effect."""
        check_choices(get_args(Pooling), pooling=self.pooling)
        settings = self.get_params(deep=False)
        del settings["normalize"]
        self.embedder_ = Embedder(**settings)
        self._n_features_out = math.prod(n or 1 for n in self.embedder_.engine.shape)
        return self

    def transform(self, X: Iterable[Sentence]) -> np.ndarray:
        """The vectors of texts, float32 `(texts, features)`."""
        check_is_fitted(self)
        if isinstance(X, str) or getattr(X, "ndim", 1) != 1:
            raise ValueError(
                "`X` should be a list, series or array of texts with one dimension. "
                f"Received: {X!r:.100}"
            )
        vectors = np.asarray(self.embedder_.encode(X, normalize=self.normalize))
        return vectors.reshape(len(vectors), self._n_features_out)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags
