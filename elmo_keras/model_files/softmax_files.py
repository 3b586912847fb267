"""The softmax of a model directory and its words, by own or published names."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.config import ElmoConfig
from elmo_keras.model_files.hdf5 import open_hdf5
from elmo_keras.model_files.published import (
    Weights,
    check_shapes,
    read_table,
    softmax_shapes,
    softmax_table,
)
from elmo_keras.models.file_names import SOFTMAX, VOCABULARY
from elmo_keras.text.vocabulary import Vocabulary

DIGEST = "vocabulary_sha256"  # attribute of a softmax
SOFTMAX_MARK = "softmax"  # part of the names of published softmax files


def find_softmax(directory: Path) -> Path | None:
    """The HDF5 file of a directory's softmax: its own, or one of a published name.

    Published names hold `softmax`, such as `elmo_…_softmax_weights.hdf5`.

    Raises:
        ValueError: several files have such names.
    """
    own = directory / SOFTMAX
    if own.exists():
        return own
    found = sorted(directory.glob(f"*{SOFTMAX_MARK}*.hdf5"))
    if len(found) > 1:
        raise ValueError(
            f"{directory} should hold one softmax. Found: "
            f"{', '.join(path.name for path in found)}. Move the others elsewhere."
        )
    return found[0] if found else None


def find_vocabulary(directory: Path) -> Path | None:
    """The vocabulary of a directory: `vocab.txt`, or the only `*vocab*.txt`, or None."""
    own = directory / VOCABULARY
    if own.exists():
        return own
    found = [*directory.glob("*vocab*.txt")]
    return found[0] if len(found) == 1 else None


@contextlib.contextmanager
def open_softmax(path: Path, vocabulary: Vocabulary) -> Iterator[Weights]:
    """The file of a softmax, open for reading.

    Raises:
        ValueError: it is no sound HDF5 file, or was trained with another vocabulary.
    """
    with open_hdf5(path) as file:
        if file.text_attribute(DIGEST) not in (None, vocabulary.digest):
            raise ValueError(
                f"{VOCABULARY} is not the one that {path} was trained with. Put that "
                "one back."
            )
        yield file


def check_softmax(config: ElmoConfig, vocabulary: Vocabulary, file: Weights) -> None:
    """Checks that a file holds a softmax over a vocabulary; no values are read.

    Raises:
        ValueError: it is missing, or has other words or another size.
    """
    kernel = file.datasets.get("softmax/W")
    rows = kernel.shape[:1] if kernel is not None and kernel.shape else ()
    if rows and rows != (len(vocabulary),):
        raise ValueError(
            f"`softmax/W` should have a row for each of the {len(vocabulary):,} words "
            f"of the vocabulary. Found: {list(kernel.shape)}. Put the vocabulary beside "
            "it that it was trained with."
        )
    check_shapes(softmax_shapes(config, len(vocabulary)), file.datasets)


def read_softmax(
    bilm: BidirectionalLanguageModel, vocabulary: Vocabulary, file: Weights
) -> None:
    """Reads a softmax into a built biLM.

    Raises:
        ValueError: it doesn't fit, is damaged or holds NaN.
    """
    check_softmax(bilm.config, vocabulary, file)
    read_table(softmax_table(bilm), file.datasets)
