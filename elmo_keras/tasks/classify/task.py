"""The task `classify`: labels of texts."""

import dataclasses
import functools
from pathlib import Path
from typing import Literal

from elmo_keras.config import TokenizerName
from elmo_keras.tasks.readers.labelled_texts import (
    READERS,
    read_goemotions,
    read_label_names,
)
from elmo_keras.tasks.task import LabelTask
from elmo_keras.text.tokenizers import TOKENIZERS
from elmo_keras.util.arguments import Count


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classification(LabelTask):
    """Labels texts: the settings of `Task`, and these.

    Args:
        format: `"fasttext"`, `"trees"`, `"nsmc"` or `"goemotions"`.
        labels: file with the names of goemotions' labels.
        split: how text is split, at `"spaces"` or `"words"`; if None, at
            punctuation, but fasttext and trees at spaces.
    """

    format: Literal["fasttext", "trees", "nsmc", "goemotions"] = "fasttext"
    labels: Path | None = None
    split: TokenizerName | None = None
    units: Count = 50

    name = "classify"

    def read(self, path):
        if (self.format == "goemotions") != (self.labels is not None):
            raise ValueError(
                "--format goemotions needs --labels FILE; other formats do not take it."
            )
        if self.labels is None:
            read = READERS[self.format]
        else:
            names = read_label_names(self.labels)
            read = functools.partial(read_goemotions, names=names)
        return read(path, split=TOKENIZERS[self.split]) if self.split else read(path)

    def model(self, token_vectors, examples):
        from elmo_keras.tasks.classifier import TextClassifier  # by Keras

        labels = sorted({example["label"] for example in examples if not self.labels})
        if self.labels is not None:
            labels = read_label_names(self.labels)
        return TextClassifier(
            token_vectors,
            labels=labels,
            multi_label=self.labels is not None,
            units=self.units,
            dropout=self.layer_dropout,
        )
