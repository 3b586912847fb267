"""Trains models of how similar two sentences are.

    python -m elmo_keras.tasks.similarity --train sts-train.tsv --dev sts-dev.tsv \\
        --output DIR
    python -m elmo_keras.tasks.similarity --train sts-train.tsv --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are tables with the columns `sentence1`, `sentence2` and `score`, from 0 to 5, as
in KorSTS and the STS benchmark. The scores are Pearson's and Spearman's correlations.
"""

import sys

from elmo_keras.tasks.arguments import SPLIT, UNITS, main
from elmo_keras.tasks.similarity.task import Similarity
from elmo_keras.util.argument_types import rate

TASK = Similarity
OPTIONS = {
    "split": SPLIT,
    "units": UNITS,
    "lstm_dropout": dict(type=rate, help="on the LSTM's output"),
}


if __name__ == "__main__":
    sys.exit(main(TASK, OPTIONS, __doc__))
