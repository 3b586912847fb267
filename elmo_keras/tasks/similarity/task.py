"""Trains models of how alike two sentences are.

    python -m elmo_keras.tasks.similarity --train sts-train.tsv --dev sts-dev.tsv \\
        --output DIR
    python -m elmo_keras.tasks.similarity --train sts-train.tsv --output DIR \\
        --elmo MODEL_DIR --baseline --seeds 1 2 3

Files are tables with the columns `sentence1`, `sentence2` and `score`, which is from 0
to 5, as KorSTS and the STS benchmark have them. The scores are Pearson's and Spearman's
correlation.
"""

import sys

from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.models.similarity_model import SimilarityModel
from elmo_keras.tasks.readers.sentence_pairs import read_korsts
from elmo_keras.tasks.readers.words import SPLITS
from elmo_keras.tasks.scores.correlation import pearson, spearman
from elmo_keras.training_arguments import positive, rate


def add_arguments(parser):
    """The options of similarity only."""
    add = parser.add_argument_group("similarity").add_argument
    add(
        "--split",
        choices=SPLITS,
        default="punctuation",
        help="sentences to tokens; default: punctuation",
    )
    add("--units", type=positive(int), default=100, help="of the LSTM, each direction")
    add("--lstm-dropout", type=rate, default=0.2, help="on the LSTM's output")


def read(path, arguments):
    """The pairs of a file."""
    return read_korsts(path, SPLITS[arguments.split])


def model(token_vectors, examples, arguments):
    """The model of similarity."""
    return SimilarityModel(token_vectors, arguments.units, arguments.lstm_dropout)


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
    "similarity",
    read,
    ("first", "second"),
    targets,
    model,
    scores,
    add_arguments,
    loss="mean_squared_error",
)

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
