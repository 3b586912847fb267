"""Trains models of how similar two sentences are."""

from typing import NamedTuple

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.readers.words import SPLITS
from elmo_keras.tasks.similarity.correlation import pearson, spearman
from elmo_keras.tasks.similarity.korsts import read_korsts
from elmo_keras.tasks.similarity.similarity_model import SimilarityModel


class SimilarityOptions(NamedTuple):
    """The options of the similarity model."""

    split: str
    units: int
    lstm_dropout: float


def add_arguments(parser):
    """Adds the similarity model's own options."""
    add = parser.add_argument_group("similarity").add_argument
    add(
        "--split",
        choices=SPLITS,
        default="punctuation",
        help="how to split text (default: punctuation)",
    )
    add("--units", type=positive(int), default=100, help="LSTM size per direction")
    add("--lstm-dropout", type=rate, default=0.2, help="on the LSTM's output")


def read(path, options):
    """The pairs of a file."""
    return read_korsts(path, SPLITS[options.split])


def model(token_vectors, examples, options):
    """The similarity model."""
    return SimilarityModel(
        token_vectors, units=options.units, dropout=options.lstm_dropout
    )


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
    add_arguments=add_arguments,
    options=SimilarityOptions,
    read=read,
    text_fields=("first", "second"),
    model=model,
    targets=targets,
    scores=scores,
    loss="mean_squared_error",
)
