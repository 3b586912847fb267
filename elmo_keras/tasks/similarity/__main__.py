"""Trains models of how similar two sentences are.

    python -m elmo_keras.tasks.similarity --train sts-train.tsv --dev sts-dev.tsv \\
        --output DIR
    python -m elmo_keras.tasks.similarity --train sts-train.tsv --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are tables with the columns `sentence1`, `sentence2` and `score`, from 0 to 5, as
in KorSTS and the STS benchmark. The scores are Pearson's and Spearman's correlations.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elmo_keras.tasks.experiments.experiment_arguments import main
from elmo_keras.tasks.experiments.task import DROPOUT, UNITS, Task, of_model
from elmo_keras.tasks.readers.labelled_texts import examples_of
from elmo_keras.tasks.readers.lines import table_rows
from elmo_keras.tasks.readers.words import SPLITS, Split, words_and_punctuation


def read_korsts(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """A table such as KorSTS gives `{"first": […], "second": […], "score": 3.8}`."""
    from elmo_keras.tasks.similarity.similarity_model import HIGHEST_SCORE  # by Keras

    def score(cell):
        try:
            number = float(cell)
        except ValueError:
            number = math.nan
        if not 0 <= number <= HIGHEST_SCORE:
            raise ValueError(
                f"a score from 0 to {HIGHEST_SCORE:g} is expected, not {cell!r}"
            )
        return number

    rows = table_rows(path, ("sentence1", "sentence2", "score"))
    return examples_of(path, rows, first=split, second=split, score=score)


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's r; 0 if a series is constant, where `np.corrcoef` and SciPy give NaN."""
    # An exact check: the mean of a constant may have a rounding error.
    if not len(x) or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(np.corrcoef(np.asarray(x, float), np.asarray(y, float))[0, 1])


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    return pearson(ranks(x), ranks(y))


def ranks(x: Sequence[float]) -> np.ndarray:
    """The rank of each number, from 1; ties have their mean rank."""
    _, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[index]


def targets(examples, similarity):
    return [example["score"] for example in examples]


def numbers(similarity, examples, predictions):
    return np.column_stack([targets(examples, similarity), predictions])


def scores(numbers):
    return {"Pearson": pearson(*numbers.T), "Spearman": spearman(*numbers.T)}


TASK = Task(
    name="similarity",
    model_path="similarity.similarity_model.SimilarityModel",
    options={
        "split": dict(
            help="how to split text (default: punctuation)",
            choices=SPLITS,
            default="punctuation",
        ),
        "units": of_model("units", 100, UNITS),
        "lstm_dropout": of_model("dropout", 0.2, DROPOUT),
    },
    read=lambda path, options: read_korsts(path, SPLITS[options.split]),
    targets=targets,
    numbers=numbers,
    scores=scores,
    loss="mean_squared_error",
)


if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
