"""Trains models of entailment: whether a hypothesis follows from a premise."""

from typing import NamedTuple

import numpy as np

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.entail.entailment_pairs import (
    read_klue,
    read_kornli,
    read_snli,
    read_tabs,
)
from elmo_keras.tasks.entail.esim import ESIM
from elmo_keras.tasks.experiments.batches import AttentionBatches
from elmo_keras.tasks.experiments.label_scores import accuracy
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.readers.words import SPLITS

READERS = {
    "tabs": read_tabs,
    "snli": read_snli,
    "kornli": read_kornli,
    "klue": read_klue,
}


class EntailOptions(NamedTuple):
    """The options of the entailment model."""

    format: str
    split: str | None
    units: int
    lstm_dropout: float


def add_arguments(parser):
    """Adds the entailment model's own options."""
    add = parser.add_argument_group("entailment").add_argument
    add("--format", choices=READERS, default="tabs", help="default: tabs")
    add(
        "--split",
        choices=SPLITS,
        help="how to split text (default: spaces for tabs, else punctuation)",
    )
    add("--units", type=positive(int), default=50, help="LSTM size per direction")
    add("--lstm-dropout", type=rate, default=0.3, help="on the LSTMs' outputs")


def read(path, options):
    """The pairs of a file."""
    given = {"split": SPLITS[options.split]} if options.split else {}
    return READERS[options.format](path, **given)


def model(token_vectors, examples, options):
    """The entailment model."""
    labels = sorted({example["label"] for example in examples})
    return ESIM(
        token_vectors, labels, units=options.units, dropout=options.lstm_dropout
    )


def targets(examples, entailment):
    """The number of each label."""
    return [entailment.labels.index(example["label"]) for example in examples]


def scores(entailment, examples, predictions):
    """Accuracy."""
    found = entailment.decide(np.stack(predictions))
    return {"accuracy": accuracy([example["label"] for example in examples], found)}


TASK = Task(
    name="entail",
    add_arguments=add_arguments,
    options=EntailOptions,
    read=read,
    text_fields=("premise", "hypothesis"),
    model=model,
    targets=targets,
    scores=scores,
    loss="sparse_categorical_crossentropy",
    batches=AttentionBatches,
)
