"""The files that were found for a model, in whatever layout, and what they hold."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from elmo_keras.config import ElmoConfig
from elmo_keras.layers.token_dictionary import TokenDictionary
from elmo_keras.model_files.hdf5 import open_hdf5
from elmo_keras.model_files.hub_module import HubModule
from elmo_keras.model_files.many_langs import ManyLangsModel
from elmo_keras.model_files.mix_file import Mix, parse_mix
from elmo_keras.model_files.published import Weights, check_weights
from elmo_keras.model_files.softmax_files import open_softmax
from elmo_keras.model_files.start_state_file import StartState, parse_start_state
from elmo_keras.model_files.tf1_checkpoint import Tf1Checkpoint
from elmo_keras.model_files.tf1_weights import check_tf1_checkpoint, tf1_weights
from elmo_keras.text.vocabulary import Vocabulary


class Content(NamedTuple):
    """A file of an archive.

    Attributes:
        name: the names of the file and of the archive, for error messages.
        data: its bytes.
    """

    name: str
    data: bytes


class ModelFiles(NamedTuple):
    """The files found for a model.

    Attributes:
        options: the content of its `options.json`.
        weights: the HDF5 file: a path, or its content out of an archive; a checkpoint
            of bilm-tf; or the weights of a model of ELMoForManyLangs or of a module.
        vocabulary_file: its `vocab.txt`: a path, or its content, or None.
        directory: the model directory, or None.
        dictionary: its characters and words, if they are not bytes.
        softmax_file: the HDF5 file of its softmax, or None.
        mix_file: its `mix.json`, or None.
        start_state_file: its `start_state.h5`, or None.
    """

    options: dict[str, Any]
    weights: Path | Content | Tf1Checkpoint | ManyLangsModel | HubModule
    vocabulary_file: Path | Content | None = None
    directory: Path | None = None
    dictionary: TokenDictionary | None = None
    softmax_file: Path | None = None
    mix_file: Content | None = None
    start_state_file: Content | None = None

    @property
    def config(self) -> ElmoConfig:
        """The configuration of its biLM, which its weights were found to fit.

        Raises:
            ValueError: its options describe no biLM, or that of other weights or of
                another dictionary.
        """
        config = self._config
        if isinstance(self.weights, Tf1Checkpoint):
            check_tf1_checkpoint(config, self.weights.prefix)
            return config
        with self.open_weights() as file:
            check_weights(config, file)
        return config

    @property
    def _config(self):
        return ElmoConfig.from_options(self.options, self.dictionary)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words of its language model, or None.

        Raises:
            ValueError: the file is not a vocabulary.
        """
        content = self.vocabulary_file
        if isinstance(content, Content):
            return Vocabulary.parse(content.data, content.name)
        return content and Vocabulary.load(content)

    @property
    def mix(self) -> Mix | None:
        """The mix of the layers that comes with it, or None.

        Raises:
            ValueError: it is not a mix of so many layers.
        """
        if isinstance(self.weights, HubModule):
            return self.weights.mix
        if self.mix_file is None:
            return None
        content = self.mix_file
        return parse_mix(content.data, content.name, self._config.n_layers + 1)

    @property
    def start_state(self) -> StartState | None:
        """The state that its biLM reads each sentence from, or None for zero.

        Raises:
            ValueError: it is damaged, or that of other weights.
        """
        if self.start_state_file is None:
            return None
        content = self.start_state_file
        with self.open_weights() as weights:
            return parse_start_state(
                content.data, content.name, self._config, weights=weights
            )

    @contextlib.contextmanager
    def open_weights(self) -> Iterator[Weights]:
        """What `read_weights` reads, such as the HDF5 file, open for reading.

        Raises:
            ValueError: it is not a sound file.
        """
        content = self.weights
        if isinstance(content, Tf1Checkpoint):
            yield tf1_weights(self._config, content.prefix)
        elif isinstance(content, (ManyLangsModel, HubModule)):
            yield content
        else:
            of_archive = isinstance(content, Content)
            source, name = (
                (content.data, content.name) if of_archive else (content, None)
            )
            with open_hdf5(source, name) as file:
                yield file

    @property
    def has_softmax(self) -> bool:
        """Whether it has a softmax and its words."""
        if self.vocabulary_file is None:
            return False
        if not isinstance(self.weights, Tf1Checkpoint):
            return self.softmax_file is not None
        with self.open_weights() as file:
            return "softmax/W" in file.datasets

    @contextlib.contextmanager
    def open_softmax(self, vocabulary: Vocabulary) -> Iterator[Weights]:
        """What `read_softmax` reads, of a model that `has_softmax`.

        Raises:
            ValueError: it is not a sound file, or was trained with another vocabulary.
        """
        if isinstance(self.weights, Tf1Checkpoint):
            opened = self.open_weights()
        else:
            opened = open_softmax(self.softmax_file, vocabulary)
        with opened as file:
            yield file
