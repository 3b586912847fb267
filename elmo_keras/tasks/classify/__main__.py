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

from elmo_keras.tasks.arguments import SPLIT, UNITS, main
from elmo_keras.tasks.classify.task import Classification
from elmo_keras.tasks.readers.labelled_texts import READERS
from elmo_keras.util.argument_types import rate

TASK = Classification
OPTIONS = {
    "format": dict(choices=[*READERS, "goemotions"], help="default: fasttext"),
    "labels": dict(type=Path, metavar="FILE", help="names of goemotions' labels"),
    "split": SPLIT,
    "units": UNITS,
    "lstm_dropout": dict(type=rate, help="on the LSTMs' outputs"),
}


if __name__ == "__main__":
    sys.exit(main(TASK, OPTIONS, __doc__))
