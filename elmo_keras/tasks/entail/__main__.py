"""Trains models of entailment: whether a hypothesis follows from a premise.

    python -m elmo_keras.tasks.entail --train train.txt --dev dev.txt --output DIR
    python -m elmo_keras.tasks.entail --format snli --train snli_1.0_train.jsonl \\
        --output DIR --elmo MODEL --baseline --seeds 1 2 3

Files are lines of premise, hypothesis and label, separated by tabs (--format tabs),
SNLI's and MultiNLI's lines of JSON (snli), KorNLI's table (kornli), or KLUE's JSON
(klue). The score is accuracy.
"""

import sys

from elmo_keras.tasks.experiments.experiment_arguments import main
from elmo_keras.tasks.experiments.label_scores import OF_LABELS
from elmo_keras.tasks.experiments.task import DROPOUT, UNITS, Task, of_model
from elmo_keras.tasks.readers.labelled_texts import PAIR_READERS
from elmo_keras.tasks.readers.words import SPLITS


def read(path, options):
    given = {"split": SPLITS[options.split]} if options.split else {}
    return PAIR_READERS[options.format](path, **given)


def of_examples(examples, options):
    return {"labels": sorted({example["label"] for example in examples})}


TASK = Task(
    name="entail",
    model_path="entail.esim.ESIM",
    options={
        "format": dict(help="default: tabs", choices=PAIR_READERS, default="tabs"),
        "split": dict(
            help="how to split text (default: spaces for tabs, else punctuation)",
            choices=SPLITS,
        ),
        "units": of_model("units", 50, UNITS),
        "lstm_dropout": of_model("dropout", 0.3, DROPOUT),
    },
    read=read,
    of_examples=of_examples,
    **OF_LABELS,
    loss="sparse_categorical_crossentropy",
)


if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
