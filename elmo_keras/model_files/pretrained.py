"""Models that training can start from: elmo-keras's, published ones, bilm-tf's."""

from pathlib import Path
from typing import NamedTuple

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.config import ElmoConfig
from elmo_keras.model_files.model_directory import (
    SOFTMAX,
    ModelFiles,
    find_model,
    read_softmax,
)
from elmo_keras.model_files.published import read_weights
from elmo_keras.model_files.tf1_checkpoint import Tf1Checkpoint, find_tf1_checkpoint
from elmo_keras.model_files.tf1_weights import (
    check_tf1_checkpoint,
    read_tf1_checkpoint,
)
from elmo_keras.text.vocabulary import Vocabulary


class Pretrained(NamedTuple):
    """A trained model to start from.

    Attributes:
        source: its files.
        vocabulary: the words of its softmax, or None if it has no softmax.
    """

    source: ModelFiles | Tf1Checkpoint
    vocabulary: Vocabulary | None

    @property
    def config(self) -> ElmoConfig:
        """The configuration of its biLM.

        Raises:
            ValueError: its options describe no biLM, or that of other weights.
        """
        if isinstance(self.source, Tf1Checkpoint):
            config = ElmoConfig.from_options(self.source.options)
            check_tf1_checkpoint(config, self.source.prefix)
            return config
        return self.source.config

    def read_into(self, bilm: BidirectionalLanguageModel, with_softmax: bool):
        """Reads the weights into a built biLM.

        Args:
            bilm: built with `config`, and for `with_softmax` with a softmax over
                `vocabulary`.
            with_softmax: whether to read the softmax too.

        Returns:
            Adagrad's accumulators in the order of `bilm.trainable_weights`, or None
            if there are none.

        Raises:
            ValueError: a file is damaged or doesn't fit.
        """
        if isinstance(self.source, Tf1Checkpoint):
            accumulators = read_tf1_checkpoint(bilm, self.source.prefix)
            return accumulators if with_softmax else None
        with self.source.open_weights() as file:
            read_weights(bilm, file)
        if with_softmax:
            path = self.source.directory / SOFTMAX
            read_softmax(bilm, path, self.vocabulary)
        return None


def find_pretrained(
    path: Path, weights: Path | None = None, vocabulary: Path | None = None
) -> Pretrained:
    """The model at a path.

    Args:
        path: a model directory, a zip or tar, an `options.json` (with `weights`), or a
            checkpoint of bilm-tf by its directory or prefix.
        weights: published HDF5 weights.
        vocabulary: file with the words of the checkpoint's softmax; by default
            `vocab.txt` beside it.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is not what it should be, or the vocabulary is missing.
    """
    if weights is None and _is_tf1(path):
        found = find_tf1_checkpoint(path)
        vocabulary = vocabulary or found.prefix.with_name("vocab.txt")
        if not vocabulary.exists():
            raise ValueError(
                f"{path} has a softmax, whose words are needed. Give the file that it "
                "was trained with as --vocabulary."
            )
        return Pretrained(found, Vocabulary.load(vocabulary))
    files = find_model(path, weights)
    has_softmax = files.directory and (files.directory / SOFTMAX).exists()
    return Pretrained(files, files.vocabulary if has_softmax else None)


def _is_tf1(path):
    if path.is_dir():
        return any(path.glob("*.index"))
    return path.with_name(f"{path.name}.index").exists()
