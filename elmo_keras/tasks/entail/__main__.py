"""Trains models of entailment: whether a hypothesis follows from a premise.

    python -m elmo_keras.tasks.entail --train train.txt --dev dev.txt --output DIR
    python -m elmo_keras.tasks.entail --format snli --train snli_1.0_train.jsonl \\
        --output DIR --elmo MODEL --baseline --seeds 1 2 3

Files are lines of premise, hypothesis and label, separated by tabs (--format tabs),
SNLI's and MultiNLI's lines of JSON (snli), KorNLI's table (kornli), or KLUE's JSON
(klue). The score is accuracy.
"""

import sys

from elmo_keras.tasks.arguments import SPLIT, UNITS, main
from elmo_keras.tasks.entail.task import Entailment
from elmo_keras.tasks.readers.labelled_texts import PAIR_READERS
from elmo_keras.util.argument_types import rate

TASK = Entailment
OPTIONS = {
    "format": dict(choices=PAIR_READERS, help="default: tabs"),
    "split": SPLIT,
    "units": UNITS,
    "lstm_dropout": dict(type=rate, help="on the LSTMs' outputs"),
}


if __name__ == "__main__":
    sys.exit(main(TASK, OPTIONS, __doc__))
