"""Trains classifiers of texts.

    python -m elmo_keras.tasks.classify --train train.txt --dev dev.txt --output DIR
    python -m elmo_keras.tasks.classify --format nsmc --train train.tsv --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are lines of `__label__LABEL text` (--format fasttext), lines of trees as in the
Stanford Sentiment Treebank (trees), or a table with the columns `document` and `label`
(nsmc). Each text has one label, and the score is accuracy. With --format goemotions,
each line has a text, the numbers of its labels (named in --labels) and an id; the
scores are macro and micro F1.
"""

import sys
from pathlib import Path

from elmo_keras.tasks.experiments.experiment_arguments import main
from elmo_keras.tasks.experiments.label_scores import OF_LABELS
from elmo_keras.tasks.experiments.task import DROPOUT, UNITS, Task, of_model
from elmo_keras.tasks.readers.labelled_texts import READERS, read_label_names
from elmo_keras.tasks.readers.words import SPLITS


def read(path, options):
    multi_label = options.format == "goemotions"
    if multi_label != (options.labels is not None):
        raise ValueError(
            "--format goemotions needs --labels FILE; other formats do not take it."
        )
    given = {"split": SPLITS[options.split]} if options.split else {}
    if multi_label:
        given["names"] = read_label_names(options.labels)
    return READERS[options.format](path, **given)


def of_examples(examples, options):
    if options.labels is not None:
        return {"labels": read_label_names(options.labels), "multi_label": True}
    return {"labels": sorted({example["label"] for example in examples})}


TASK = Task(
    name="classify",
    model_path="classify.classifier.TextClassifier",
    options={
        "format": dict(help="default: fasttext", choices=READERS, default="fasttext"),
        "labels": dict(
            help="names of the labels of goemotions", type=Path, metavar="FILE"
        ),
        "split": dict(
            help="how to split text (default: punctuation; fasttext and trees: spaces)",
            choices=SPLITS,
        ),
        "units": of_model("units", 50, UNITS),
        "lstm_dropout": of_model("dropout", 0.2, DROPOUT),
    },
    read=read,
    of_examples=of_examples,
    **OF_LABELS,
)


if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
