"""The task `similarity`: how similar two sentences are."""

import dataclasses

import numpy as np

from elmo_keras.config import TokenizerName
from elmo_keras.tasks.readers.labelled_texts import read_korsts
from elmo_keras.tasks.task import Task
from elmo_keras.text.tokenizers import TOKENIZERS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Similarity(Task):
    """Scores pairs of sentences: the settings of `Task`, and these.

    Args:
        split: how text is split, at `"spaces"` or `"words"`.
    """

    split: TokenizerName = "words"

    name = "similarity"
    text_fields = "first", "second"
    loss = "mean_squared_error"

    def read(self, path):
        return read_korsts(path, TOKENIZERS[self.split])

    def model(self, token_vectors, examples):
        from elmo_keras.tasks.similarity.similarity_model import SimilarityModel

        return SimilarityModel(token_vectors, self.units, self.layer_dropout)

    def targets(self, examples, model):
        return [example["score"] for example in examples]

    def statistics(self, model, examples, predictions):
        return np.column_stack([self.targets(examples, model), predictions])

    def scores(self, statistics):
        gold, predicted = statistics.T
        return {
            "Pearson": pearson(gold, predicted),
            "Spearman": pearson(ranks(gold), ranks(predicted)),
        }


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's r; 0 if a series is constant, where `np.corrcoef` and SciPy give NaN."""
    # An exact check: the mean of a constant may have a rounding error.
    if not len(x) or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def ranks(x: np.ndarray) -> np.ndarray:
    """The rank of each number, from 1; ties have their mean rank."""
    _, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[index]
