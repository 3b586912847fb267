"""Trains classifiers of texts."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.classify.classifier import TextClassifier
from elmo_keras.tasks.classify.labelled_texts import (
    read_fasttext,
    read_goemotions,
    read_label_names,
    read_table,
    read_trees,
)
from elmo_keras.tasks.experiments.batches import AttentionBatches
from elmo_keras.tasks.experiments.label_scores import accuracy, multi_label_f1
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.readers.words import SPLITS

READERS = {
    "fasttext": read_fasttext,
    "trees": read_trees,
    "nsmc": read_table,
    "goemotions": read_goemotions,
}


class ClassifyOptions(NamedTuple):
    """The options of the classifier."""

    format: str
    labels: Path | None
    split: str | None
    units: int
    lstm_dropout: float

    @property
    def is_multi_label(self) -> bool:
        """Whether a text may have several labels."""
        return self.format == "goemotions"


def add_arguments(parser):
    """Adds the classifier's own options."""
    add = parser.add_argument_group("classifier").add_argument
    add("--format", choices=READERS, default="fasttext", help="default: fasttext")
    add("--labels", type=Path, metavar="FILE", help="names of the labels of goemotions")
    add(
        "--split",
        choices=SPLITS,
        help="how to split text (default: punctuation; fasttext and trees: spaces)",
    )
    add("--units", type=positive(int), default=50, help="LSTM size per direction")
    add("--lstm-dropout", type=rate, default=0.2, help="on the LSTMs' outputs")


def read(path, options):
    """The texts of a file."""
    if options.is_multi_label != (options.labels is not None):
        raise ValueError(
            "--format goemotions needs --labels FILE; other formats do not take it."
        )
    given = {"split": SPLITS[options.split]} if options.split else {}
    if options.is_multi_label:
        given["names"] = read_label_names(options.labels)
    return READERS[options.format](path, **given)


def model(token_vectors, examples, options):
    """The classifier."""
    if options.is_multi_label:
        labels = read_label_names(options.labels)
    else:
        labels = sorted({example["label"] for example in examples})
    return TextClassifier(
        token_vectors,
        labels,
        options.is_multi_label,
        units=options.units,
        dropout=options.lstm_dropout,
    )


def targets(examples, classifier):
    """The index of each label; for multi-label texts, 1 for right labels, else 0."""
    labels = classifier.labels
    if classifier.multi_label:
        return [np.isin(labels, e["labels"]).astype("float32") for e in examples]
    return [labels.index(example["label"]) for example in examples]


def scores(classifier, examples, predictions):
    """Accuracy; for multi-label texts, macro and micro F1."""
    found = classifier.decide(np.stack(predictions))
    if classifier.multi_label:
        gold = [example["labels"] for example in examples]
        return multi_label_f1(gold, found, classifier.labels)
    return {"accuracy": accuracy([example["label"] for example in examples], found)}


TASK = Task(
    name="classify",
    add_arguments=add_arguments,
    options=ClassifyOptions,
    read=read,
    text_fields=("tokens",),
    model=model,
    targets=targets,
    scores=scores,
    batches=AttentionBatches,
)
