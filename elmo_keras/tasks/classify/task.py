"""Trains classifiers of texts.

    python -m elmo_keras.tasks.classify --train train.txt --dev dev.txt --output DIR
    python -m elmo_keras.tasks.classify --format nsmc --train train.tsv --output DIR \\
        --elmo MODEL_DIR --baseline --seeds 1 2 3

Files are lines of `__label__LABEL text` (--format fasttext), lines of trees as in the
Stanford Sentiment Treebank (trees), a table with the columns `document` and `label`
(nsmc), all of them with one label a text: accuracy; or lines of a text, the numbers of
its labels and an id (goemotions; --labels names them): macro and micro F1.
"""

import sys
from pathlib import Path

import numpy as np

from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.models.classifier import TextClassifier
from elmo_keras.tasks.readers.labelled_texts import (
    read_fasttext,
    read_goemotions,
    read_label_names,
    read_table,
    read_trees,
)
from elmo_keras.tasks.readers.words import SPLITS
from elmo_keras.tasks.scores.label_scores import accuracy, several_labels_f1
from elmo_keras.training_arguments import positive, rate

READERS = {
    "fasttext": read_fasttext,
    "trees": read_trees,
    "nsmc": read_table,
    "goemotions": read_goemotions,
}


def add_arguments(parser):
    """The options of classifiers only."""
    add = parser.add_argument_group("classifier").add_argument
    add("--format", choices=READERS, default="fasttext", help="default: fasttext")
    add("--labels", type=Path, metavar="FILE", help="names of goemotions' labels")
    add(
        "--split",
        choices=SPLITS,
        help="texts to tokens; default: spaces for fasttext and trees, else punctuation",
    )
    add("--units", type=positive(int), default=50, help="of an LSTM, each direction")
    add("--lstm-dropout", type=rate, default=0.2, help="on the LSTMs' outputs")


def read(path, arguments):
    """The texts of a file."""
    if (arguments.format == "goemotions") != (arguments.labels is not None):
        raise ValueError(
            "--labels FILE goes with --format goemotions, and only with it."
        )
    given = {"split": SPLITS[arguments.split]} if arguments.split else {}
    if arguments.format == "goemotions":
        given["names"] = read_label_names(arguments.labels)
    return READERS[arguments.format](path, **given)


def model(token_vectors, examples, arguments):
    """The classifier."""
    several = arguments.format == "goemotions"
    if several:
        labels = read_label_names(arguments.labels)
    else:
        labels = sorted({example["label"] for example in examples})
    units, dropout = arguments.units, arguments.lstm_dropout
    return TextClassifier(token_vectors, labels, several, units, dropout)


def targets(examples, classifier):
    """The number of each label, or whether each of the labels is right, 0 or 1."""
    labels = classifier.labels
    if classifier.several:
        return [np.isin(labels, e["labels"]).astype("float32") for e in examples]
    return [labels.index(example["label"]) for example in examples]


def scores(classifier, examples, predictions):
    """Accuracy, or macro and micro F1 where there are several labels."""
    found = classifier.decide(np.stack(predictions))
    if classifier.several:
        gold = [example["labels"] for example in examples]
        return several_labels_f1(gold, found, classifier.labels)
    return {"accuracy": accuracy([example["label"] for example in examples], found)}


TASK = Task("classify", read, ("tokens",), targets, model, scores, add_arguments)

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
