"""Tokens of texts with the layers of the biLM, which the networks of all kinds read."""

import functools
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.heads.texts import join
from elmo_keras.lite.scalar_mix import normalize


class TokenBatch:
    """The tokens of some texts, with the layers of the biLM, prepared once for several heads.

    Args:
        sentences: the tokens of each text.
        layers: the biLM's `(layers, tokens, dim)` for each, or none for networks that
            contain their language model.
    """

    def __init__(
        self, sentences: Sequence[Sequence[str]], layers: Iterable[np.ndarray] = ()
    ):
        self.sentences, self.layers = sentences, list(layers)
        self.lengths = np.array([len(sentence) for sentence in sentences], int)
        self.parts = parts_of(self.lengths)

    @functools.cached_property
    def tokens(self) -> list[str]:
        return join(self.sentences)

    @functools.cached_property
    def flat(self) -> np.ndarray:
        """The layers of all tokens: `(layers, tokens, dim)`."""
        return np.concatenate(self.layers, axis=1)

    @functools.cached_property
    def normalized(self) -> np.ndarray:
        """The layers with mean 0 and variance 1 in each token, as by `layer_norm` of a mix."""
        return normalize(self.flat)


def elmo_positions(elmo_at: str) -> tuple[str, ...]:
    """The places at which ELMo is added to a network: its input, its output or both."""
    check_choices(("input", "output", "both"), elmo_at=elmo_at)
    return ("input", "output") if elmo_at == "both" else (elmo_at,)


def parts_of(lengths: np.ndarray) -> list[slice]:
    """The slice of each sentence of these lengths among flat sentences."""
    ends = np.cumsum(lengths).tolist()
    return [slice(*pair) for pair in itertools.pairwise([0, *ends])]
