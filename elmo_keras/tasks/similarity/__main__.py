"""Trains models of how similar two sentences are.

    python -m elmo_keras.tasks.similarity --train sts-train.tsv --dev sts-dev.tsv \\
        --output DIR
    python -m elmo_keras.tasks.similarity --train sts-train.tsv --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are tables with the columns `sentence1`, `sentence2` and `score`, from 0 to 5, as
in KorSTS and the STS benchmark. The scores are Pearson's and Spearman's correlations.
"""

import sys

from elmo_keras.tasks.experiments.experiment import main
from elmo_keras.tasks.similarity.task import TASK

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
