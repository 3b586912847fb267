"""The variants that experiments compare: without ELMo, and with it in several ways."""

from pathlib import Path
from typing import NamedTuple

import keras

from elmo_keras.elmo import Elmo
from elmo_keras.models.local_files import model_title


class Variant(NamedTuple):
    """One way to make the token vectors of a task."""

    elmo: str | Path | None = None  # see `Elmo.from_pretrained`; None for the baseline
    elmo_at: str = "input"  # or "output" or "both", see `TokenVectors`
    scheme: str | int = "learned"  # see `layers.ScalarMix`; also "top"
    l2: float = 0.001  # the paper's λ
    layer_norm: bool = False
    gamma: float | None = None  # at the start; None for 1, or the γ of the biLM's mix
    elmo_dropout: float = 0.5
    fine_tune: bool = False  # the biLM is trained as well
    share: float = 1.0  # of the training data

    @property
    def name(self) -> str:
        """The name of its files, made of the settings that differ from the defaults.

        Example:

        >>> Variant(Path("models/en"), elmo_at="both", share=0.1).name
        'elmo-en-both-share-0.1'
        """
        usual = Variant()
        parts = ["baseline"]
        if self.elmo is not None:
            parts = ["elmo", model_title(self.elmo)]
            parts += [self.elmo_at] * (self.elmo_at != usual.elmo_at)
            layer = isinstance(self.scheme, int)
            scheme = f"layer-{self.scheme}" if layer else self.scheme
            parts += [scheme] * (self.scheme != usual.scheme)
            parts += [f"l2-{self.l2:g}"] * (self.l2 != usual.l2)
            parts += ["normalised"] * self.layer_norm
            parts += [] if self.gamma is None else [f"gamma-{self.gamma:g}"]
            is_usual = self.elmo_dropout == usual.elmo_dropout
            parts += [f"dropout-{self.elmo_dropout:g}"] * (not is_usual)
            parts += ["tuned"] * self.fine_tune
        parts += [f"share-{self.share:g}"] * (self.share != usual.share)
        return "-".join(parts)

    @property
    def is_cacheable(self) -> bool:
        """Whether the biLM's layers are the same in all epochs."""
        return self.elmo is not None and not self.fine_tune

    def layer(self) -> Elmo | None:
        if self.elmo is None:
            return None
        regularized = self.scheme == "learned"
        elmo = Elmo.from_pretrained(
            self.elmo,
            num_representations=2 if self.elmo_at == "both" else 1,
            scheme=-1 if self.scheme == "top" else self.scheme,
            l2=self.l2 if regularized else 0.0,
            layer_norm=self.layer_norm,
            dropout=self.elmo_dropout,
            trainable_bilm=self.fine_tune,
        )
        for mix in elmo.mixes:
            mix.assign(gamma=self.gamma)
        return elmo


def learned_mixes(mixes: dict[str, keras.layers.Layer]) -> dict[str, dict]:
    return {
        place: {
            "weights": [round(float(weight), 6) for weight in mix.layer_weights()],
            "gamma": round(float(mix.gamma), 6),
        }
        for place, mix in mixes.items()
    }
