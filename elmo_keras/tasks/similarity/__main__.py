"""Trains models of how similar two sentences are.

    python -m elmo_keras.tasks.similarity --train sts-train.tsv --dev sts-dev.tsv \\
        --output DIR
    python -m elmo_keras.tasks.similarity --train sts-train.tsv --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are tables with the columns `sentence1`, `sentence2` and `score`, from 0 to 5, as
in KorSTS and the STS benchmark. The scores are Pearson's and Spearman's correlations.
"""

import sys

from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.task import UNITS, Option, Task
from elmo_keras.tasks.readers.words import SPLITS
from elmo_keras.tasks.similarity.correlation import pearson, spearman
from elmo_keras.tasks.similarity.korsts import read_korsts
from elmo_keras.tasks.similarity.similarity_model import SimilarityModel


def read(path, options):
    """The pairs of a file."""
    return read_korsts(path, SPLITS[options.split])


def targets(examples, similarity):
    """The scores."""
    return [example["score"] for example in examples]


def scores(similarity, examples, predictions):
    """The correlations."""
    gold = [example["score"] for example in examples]
    return {
        "Pearson": pearson(gold, predictions),
        "Spearman": spearman(gold, predictions),
    }


TASK = Task(
    name="similarity",
    model_class=SimilarityModel,
    options={
        "split": Option(
            "how to split text (default: punctuation)",
            settings={"choices": SPLITS, "default": "punctuation"},
        ),
        "units": Option(UNITS, "units"),
        "lstm_dropout": Option("on the LSTM's output", "dropout"),
    },
    read=read,
    of_examples=lambda examples, options: {},
    targets=targets,
    scores=scores,
    loss="mean_squared_error",
)


if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
