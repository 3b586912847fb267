"""Models that training can start from: elmo-keras's, published ones, bilm-tf's."""

from pathlib import Path
from typing import NamedTuple

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.config import ElmoConfig
from elmo_keras.model_files.files_in_directory import tf1_files
from elmo_keras.model_files.found_model import ModelFiles
from elmo_keras.model_files.model_directory import find_model
from elmo_keras.model_files.published import read_weights
from elmo_keras.model_files.softmax_files import read_softmax
from elmo_keras.model_files.tf1_checkpoint import Tf1Checkpoint, is_tf1_checkpoint
from elmo_keras.model_files.tf1_weights import read_tf1_checkpoint
from elmo_keras.text.vocabulary import Vocabulary


class Pretrained(NamedTuple):
    """A trained model to start from.

    Attributes:
        source: its files.
        vocabulary: the words of its softmax, or None if it has no softmax.
    """

    source: ModelFiles
    vocabulary: Vocabulary | None

    @property
    def config(self) -> ElmoConfig:
        """The configuration of its biLM.

        Raises:
            ValueError: its options describe no biLM, or that of other weights.
        """
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
        weights = self.source.weights
        if isinstance(weights, Tf1Checkpoint):
            accumulators = read_tf1_checkpoint(bilm, weights.prefix)
            return accumulators if with_softmax else None
        with self.source.open_weights() as file:
            read_weights(bilm, file)
        if with_softmax:
            with self.source.open_softmax(self.vocabulary) as file:
                read_softmax(bilm, self.vocabulary, file)
        return None


def find_pretrained(
    path: str | Path,
    weights: str | Path | None = None,
    vocabulary: Path | None = None,
) -> Pretrained:
    """The model at a path.

    The name or address of a published model is downloaded, see `models.local_files`.

    Args:
        path: what `find_model` takes. In a directory with both, a checkpoint of
            bilm-tf comes before HDF5 weights.
        weights: published HDF5 weights.
        vocabulary: file with the words of the softmax; by default `vocab.txt` beside
            it, or the only `*vocab*.txt`.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is not what it should be, or the vocabulary is missing.
    """
    if weights is None and is_tf1_checkpoint(Path(path)):
        files = tf1_files(Path(path))  # it has a softmax, unlike HDF5 files beside it
    else:
        files = find_model(path, weights)
    if isinstance(files.weights, Tf1Checkpoint):
        vocabulary = vocabulary or files.vocabulary_file
        if vocabulary is None or not vocabulary.exists():
            raise ValueError(
                f"{path} has a softmax, whose words are needed. Give the file that it "
                "was trained with as --vocabulary."
            )
        return Pretrained(files, Vocabulary.load(vocabulary))
    if files.softmax_file and not files.vocabulary_file and vocabulary:
        files = files._replace(vocabulary_file=vocabulary)
    return Pretrained(files, files.vocabulary if files.has_softmax else None)
