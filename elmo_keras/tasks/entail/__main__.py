"""Trains models of entailment: whether a hypothesis follows from a premise.

    python -m elmo_keras.tasks.entail --train train.txt --dev dev.txt --output DIR
    python -m elmo_keras.tasks.entail --format snli --train snli_1.0_train.jsonl \\
        --output DIR --elmo MODEL --baseline --seeds 1 2 3

Files are lines of premise, hypothesis and label, separated by tabs (--format tabs),
SNLI's and MultiNLI's lines of JSON (snli), KorNLI's table (kornli), or KLUE's JSON
(klue). The score is accuracy.
"""

import sys

import numpy as np

from elmo_keras.tasks.entail.entailment_pairs import (
    read_klue,
    read_kornli,
    read_snli,
    read_tabs,
)
from elmo_keras.tasks.entail.esim import ESIM
from elmo_keras.tasks.experiments.batches import AttentionBatches
from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.label_scores import accuracy
from elmo_keras.tasks.experiments.task import UNITS, Option, Task
from elmo_keras.tasks.readers.words import SPLITS

READERS = {
    "tabs": read_tabs,
    "snli": read_snli,
    "kornli": read_kornli,
    "klue": read_klue,
}


def read(path, options):
    """The pairs of a file."""
    given = {"split": SPLITS[options.split]} if options.split else {}
    return READERS[options.format](path, **given)


def of_examples(examples, options):
    """The labels."""
    return {"labels": sorted({example["label"] for example in examples})}


def targets(examples, entailment):
    """The number of each label."""
    return [entailment.labels.index(example["label"]) for example in examples]


def scores(entailment, examples, predictions):
    """Accuracy."""
    found = entailment.decide(np.stack(predictions))
    return {"accuracy": accuracy([example["label"] for example in examples], found)}


TASK = Task(
    name="entail",
    model_class=ESIM,
    options={
        "format": Option(
            "default: tabs", settings={"choices": READERS, "default": "tabs"}
        ),
        "split": Option(
            "how to split text (default: spaces for tabs, else punctuation)",
            settings={"choices": SPLITS},
        ),
        "units": Option(UNITS, "units"),
        "lstm_dropout": Option("on the LSTMs' outputs", "dropout"),
    },
    read=read,
    of_examples=of_examples,
    targets=targets,
    scores=scores,
    loss="sparse_categorical_crossentropy",
    batches=AttentionBatches,
)


if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
