"""The files that were found for a model, in whatever layout, and what they hold."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.checkpoints import ADAGRAD, CheckpointWeights
from elmo_keras.formats.hdf5 import Content, open_hdf5
from elmo_keras.formats.mix_file import Mix, parse_mix
from elmo_keras.formats.published import (
    Weights,
    check_shapes,
    check_weights,
    finite_values,
    published_table,
    read_table,
    softmax_shapes,
    softmax_table,
    split,
)
from elmo_keras.hub.catalogue import VOCABULARY
from elmo_keras.layers.blocked_weights import values_read_later
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.token_dictionary import TokenDictionary

SOFTMAX_DIGEST = "vocabulary_sha256"  # attribute of a softmax


@dataclasses.dataclass(frozen=True)
class ModelFiles:
    """The files found for a model; those that it lacks are None."""

    options: dict[str, Any]  # the content of its `options.json`
    open_weights: Callable[[], Weights]
    vocabulary_file: Path | Content | None = None
    _: dataclasses.KW_ONLY
    directory: Path | None = None
    dictionary: TokenDictionary | None = None  # its tokens, if they are not bytes
    softmax_file: Path | None = None
    own_mix: Mix | Content | None = None  # that of its layers, or its `mix.json`

    @functools.cached_property
    def weights(self) -> Weights:
        return self.open_weights()

    @property
    def config(self) -> ElmoConfig:
        check_weights(self._config, self.weights)
        return self._config

    @property
    def _config(self):
        return ElmoConfig.from_options(self.options, self.dictionary)

    @functools.cached_property
    def vocabulary(self) -> Vocabulary | None:
        file = self.vocabulary_file
        if isinstance(file, Content):
            return Vocabulary.parse(file.data, file.name)
        return file and Vocabulary.load(file)

    @property
    def mix(self) -> Mix | None:
        if isinstance(self.own_mix, Content):
            return parse_mix(self.own_mix, self._config.n_layers + 1)
        return self.own_mix

    @property
    def has_softmax(self) -> bool:
        if self.vocabulary_file is None or self.softmax_file is not None:
            return self.vocabulary_file is not None
        return self.is_checkpoint and "softmax/W" in self.weights.datasets

    @property
    def is_checkpoint(self) -> bool:
        return isinstance(self.weights, CheckpointWeights)

    def bilm(self, **kwargs) -> BidirectionalLanguageModel:
        config, n_words = self.config, None
        if self.has_softmax:
            self._softmax()  # it is checked before it takes memory
            n_words = len(self.vocabulary)
        with values_read_later():
            bilm = BidirectionalLanguageModel(config, vocabulary_size=n_words, **kwargs)
            bilm.build()
        self.read_into(bilm, with_softmax=n_words is not None)
        return bilm

    def read_into(
        self, bilm: BidirectionalLanguageModel, *, with_softmax: bool = False
    ) -> None:
        """Reads weights into a built biLM; all are checked before any changes."""
        check_weights(bilm.config, self.weights)
        table, found = published_table(bilm), dict(self.weights.datasets)
        if with_softmax:
            table |= softmax_table(bilm)
            found |= self._softmax().datasets
        read_table(table, found)

    def accumulators(self, bilm: BidirectionalLanguageModel) -> list | None:
        """Adagrad's accumulators in the order of `bilm.trainable_weights`, or None."""
        if not self.is_checkpoint or not self.weights.accumulators:
            return None
        found, table = self.weights.accumulators, published_table(bilm)
        if bilm.softmax is not None:
            self._softmax()  # it should be that of the vocabulary
            table |= softmax_table(bilm)
        slots = {f"{name}/{ADAGRAD}": entry for name, entry in table.items()}
        check_shapes({name: entry.shape for name, entry in slots.items()}, found)
        accumulators = {
            id(variable): rows
            for name, entry in slots.items()
            for variable, rows in split(entry, finite_values(name, found[name]))
        }
        return [accumulators[id(v)] for v in bilm.trainable_weights]

    def _softmax(self) -> Weights:
        """What the softmax over its vocabulary is read from; no values are read."""
        vocabulary = self.vocabulary
        if self.is_checkpoint:
            file = self.weights
        else:
            file = open_hdf5(self.softmax_file)
            if file.text_attribute(SOFTMAX_DIGEST) not in (None, vocabulary.digest):
                raise ValueError(
                    f"{VOCABULARY} is not the one that {self.softmax_file} was trained "
                    "with. Put that one back."
                )
        kernel = file.datasets.get("softmax/W")
        rows = kernel.shape[:1] if kernel is not None and kernel.shape else ()
        if rows and rows != (len(vocabulary),):
            raise ValueError(
                f"`{kernel.name}` should have a row for each of the {len(vocabulary):,} "
                f"words of the vocabulary. Found: {list(kernel.shape)}. Give the "
                "vocabulary that it was trained with."
            )
        check_shapes(softmax_shapes(self._config, len(vocabulary)), file.datasets)
        return file
