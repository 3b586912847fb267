"""The files of a model, in whatever layout they were published, and what they hold."""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elmo_keras.base.argument_checks import shortened
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.hdf5 import open_hdf5
from elmo_keras.formats.published import (
    check_shapes,
    check_weights,
    finite_values,
    softmax_rows,
)
from elmo_keras.hub.catalogue import VOCABULARY
from elmo_keras.text.vocabulary import Vocabulary

if TYPE_CHECKING:  # only what makes a biLM needs TensorFlow
    from elmo_keras.bilm import BidirectionalLanguageModel
    from elmo_keras.layers.scalar_mix import ScalarMix

_MAX_VALUE = float(np.finfo(np.float32).max)
ADAGRAD = "Adagrad"  # ending of the names of accumulators
SOFTMAX_DIGEST = "vocabulary_sha256"  # attribute of a softmax


class Mix(NamedTuple):
    """The weights w before the softmax and the factor γ of a `layers.ScalarMix`."""

    scalars: tuple[float, ...]
    gamma: float


def make_mix(path: Path, values: Mapping[str, Any], config: ElmoConfig) -> Mix:
    """A mix of a file's values, which should be numbers, one for each layer."""
    scalars, gamma = values.get("scalars"), values.get("gamma")
    numbers = [*scalars, gamma] if isinstance(scalars, list) else []
    are_finite = all(type(x) in (int, float) and abs(x) <= _MAX_VALUE for x in numbers)
    if len(numbers) != config.n_layers + 2 or not are_finite:
        raise ValueError(
            f"{path} should hold a mix, {config.n_layers + 1} finite `scalars`, one for "
            f"each layer, and a finite `gamma`. Found: {shortened(dict(values))}"
        )
    return Mix(tuple(numbers[:-1]), float(np.float32(numbers[-1])))


def mix_content(mix: "ScalarMix | Mix") -> bytes:
    if not isinstance(mix, Mix) and mix.layer_choice != "mix":
        raise ValueError(
            f"A mix should be that of `layers='mix'`. Received: {mix.layer_choice!r}"
        )
    scalars = np.asarray(mix.scalars, np.float32).tolist()
    values = {"scalars": scalars, "gamma": float(np.float32(mix.gamma))}
    return f"{json.dumps(values, indent=2)}\n".encode()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """The content of a model's files; parts that are missing are None or empty."""

    config: ElmoConfig
    options: dict[str, Any]  # the content of its `options.json`
    datasets: Mapping[str, Any]  # published name → array, read when it is indexed
    accumulators: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    is_checkpoint: bool = False  # whether bilm-tf wrote it
    vocabulary_path: Path | None = None
    softmax_path: Path | None = None
    mix: Mix | None = None

    def __post_init__(self):
        check_weights(self.config, self.datasets)

    @functools.cached_property
    def vocabulary(self) -> Vocabulary | None:
        return self.vocabulary_path and Vocabulary.load(self.vocabulary_path)

    @property
    def has_softmax(self) -> bool:
        if self.vocabulary_path is None:
            return False
        in_checkpoint = self.is_checkpoint and "softmax/W" in self.datasets
        return self.softmax_path is not None or in_checkpoint

    def predicted_words(self, model: str | Path) -> Vocabulary:
        """The vocabulary of a softmax; a ValueError names the model if it has none."""
        if self.vocabulary is None or not self.has_softmax:
            raise ValueError(
                f"{model} should have a softmax and its vocabulary, which predict "
                "words. It has vectors only."
            )
        return self.vocabulary

    def initial_mix(
        self,
        layers: str | int = "mix",
        mix: Sequence[float] | None = None,
        gamma: float | None = None,
    ) -> tuple[Sequence[float] | None, float]:
        """The weights before the softmax and γ: those given, or the model's own."""
        if mix is None and layers == "mix" and self.mix is not None:
            return self.mix.scalars, self.mix.gamma if gamma is None else gamma
        return mix, 1.0 if gamma is None else gamma

    def bilm(self, **kwargs) -> "BidirectionalLanguageModel":
        from elmo_keras.bilm import BidirectionalLanguageModel
        from elmo_keras.layers.blocked_weights import values_read_later

        n_words = None
        if self.has_softmax and self.vocabulary is not None:
            self.softmax(self.vocabulary)  # it is checked before it takes memory
            n_words = len(self.vocabulary)
        with values_read_later():
            bilm = BidirectionalLanguageModel(
                self.config, vocabulary_size=n_words, **kwargs
            )
            bilm.build()
        self.read_into(bilm, with_softmax=n_words is not None)
        return bilm

    def read_into(
        self, bilm: "BidirectionalLanguageModel", *, with_softmax: bool = False
    ) -> None:
        """Reads weights into a built biLM; all are checked before any changes."""
        from elmo_keras.formats.variables import (
            published_table,
            read_table,
            softmax_table,
        )

        check_weights(bilm.config, self.datasets)
        table, datasets = published_table(bilm), dict(self.datasets)
        if with_softmax and self.vocabulary is not None:
            table |= softmax_table(bilm)
            datasets |= self.softmax(self.vocabulary)
        read_table(table, datasets)

    def adagrad_accumulators(
        self, bilm: "BidirectionalLanguageModel"
    ) -> list[np.ndarray] | None:
        """The weights of a checkpoint, in the order of `bilm.trainable_weights`."""
        from elmo_keras.formats.variables import published_table, softmax_table, split

        if not self.accumulators:
            return None
        table, values = published_table(bilm), {}
        if bilm.softmax is not None and self.vocabulary is not None:
            self.softmax(self.vocabulary)  # refuses the softmax of another vocabulary
            table |= softmax_table(bilm)
        slots = {f"{name}/{ADAGRAD}": entry for name, entry in table.items()}
        check_shapes(slots, self.accumulators)
        for name, entry in slots.items():
            array = finite_values(name, self.accumulators[name])
            values.update((id(v), rows) for v, rows in split(entry, array))
        return [values[id(v)] for v in bilm.trainable_weights]

    def softmax(self, vocabulary: Vocabulary) -> Mapping[str, Any]:
        """The datasets of the softmax over the vocabulary; no values are read."""
        datasets = self.datasets
        if self.softmax_path is not None:
            file = open_hdf5(self.softmax_path)
            if file.text_attribute(SOFTMAX_DIGEST) not in (None, vocabulary.digest):
                raise ValueError(
                    f"{VOCABULARY} is not the one of {self.softmax_path}. Put it back."
                )
            datasets = file.datasets
        kernel = datasets.get("softmax/W")
        if kernel is not None and kernel.shape[:1] not in ((), (len(vocabulary),)):
            raise ValueError(
                f"`{kernel.name}` should have a row for each of the {len(vocabulary):,} "
                f"words of its vocabulary. Found: {list(kernel.shape)}"
            )
        check_shapes(softmax_rows(self.config, len(vocabulary)), datasets)
        return datasets
