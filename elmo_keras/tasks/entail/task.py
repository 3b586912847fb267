"""The task `entail`: whether a hypothesis follows from a premise."""

import dataclasses
from typing import Literal

from elmo_keras.config import TokenizerName
from elmo_keras.tasks.readers.labelled_texts import PAIR_READERS
from elmo_keras.tasks.task import LabelTask
from elmo_keras.text.tokenizers import TOKENIZERS
from elmo_keras.util.arguments import Count, Rate


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entailment(LabelTask):
    """Labels pairs of sentences: the settings of `Task`, and these.

    Args:
        format: `"tabs"`, `"snli"`, `"kornli"` or `"klue"`.
        split: how text is split, at `"spaces"` or `"words"`; if None, at
            punctuation, but tabs at spaces.
    """

    format: Literal["tabs", "snli", "kornli", "klue"] = "tabs"
    split: TokenizerName | None = None
    units: Count = 50
    layer_dropout: Rate = 0.3

    name = "entail"
    text_fields = "premise", "hypothesis"
    loss = "sparse_categorical_crossentropy"

    def read(self, path):
        read = PAIR_READERS[self.format]
        return read(path, TOKENIZERS[self.split]) if self.split else read(path)

    def model(self, token_vectors, examples):
        from elmo_keras.tasks.entailment import ESIM  # by Keras

        labels = sorted({example["label"] for example in examples})
        return ESIM(
            token_vectors, labels=labels, units=self.units, dropout=self.layer_dropout
        )
