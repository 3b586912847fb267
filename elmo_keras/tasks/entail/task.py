"""Trains models of entailment: whether a hypothesis follows from a premise.

    python -m elmo_keras.tasks.entail --train train.txt --dev dev.txt --output DIR
    python -m elmo_keras.tasks.entail --format snli --train snli_1.0_train.jsonl \\
        --output DIR --elmo MODEL_DIR --baseline --seeds 1 2 3

Files are lines of premise, hypothesis and label with tabs between (--format tabs),
SNLI's and MultiNLI's lines of JSON (snli), KorNLI's table (kornli), or KLUE's JSON
(klue). The score is accuracy.
"""

import sys

import numpy as np

from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.models.esim import ESIM
from elmo_keras.tasks.readers.sentence_pairs import (
    read_klue,
    read_kornli,
    read_snli,
    read_tabs,
)
from elmo_keras.tasks.readers.words import SPLITS
from elmo_keras.tasks.scores.label_scores import accuracy
from elmo_keras.training_arguments import positive, rate

READERS = {
    "tabs": read_tabs,
    "snli": read_snli,
    "kornli": read_kornli,
    "klue": read_klue,
}


def add_arguments(parser):
    """The options of entailment only."""
    add = parser.add_argument_group("entailment").add_argument
    add("--format", choices=READERS, default="tabs", help="default: tabs")
    add(
        "--split",
        choices=SPLITS,
        help="sentences to tokens; default: spaces for tabs, else punctuation",
    )
    add("--units", type=positive(int), default=50, help="of an LSTM, each direction")
    add("--lstm-dropout", type=rate, default=0.3, help="on the LSTMs' outputs")


def read(path, arguments):
    """The pairs of a file."""
    given = {"split": SPLITS[arguments.split]} if arguments.split else {}
    return READERS[arguments.format](path, **given)


def model(token_vectors, examples, arguments):
    """The model of entailment."""
    labels = sorted({example["label"] for example in examples})
    return ESIM(token_vectors, labels, arguments.units, arguments.lstm_dropout)


def targets(examples, entailment):
    """The number of each label."""
    return [entailment.labels.index(example["label"]) for example in examples]


def scores(entailment, examples, predictions):
    """Accuracy."""
    found = entailment.decide(np.stack(predictions))
    return {"accuracy": accuracy([example["label"] for example in examples], found)}


TASK = Task(
    "entail",
    read,
    ("premise", "hypothesis"),
    targets,
    model,
    scores,
    add_arguments,
    loss="sparse_categorical_crossentropy",
)

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
