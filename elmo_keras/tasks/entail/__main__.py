"""Trains models of entailment: whether a hypothesis follows from a premise.

    python -m elmo_keras.tasks.entail --train train.txt --dev dev.txt --output DIR
    python -m elmo_keras.tasks.entail --format snli --train snli_1.0_train.jsonl \\
        --output DIR --elmo MODEL --baseline --seeds 1 2 3

Files are lines of premise, hypothesis and label, separated by tabs (--format tabs),
SNLI's and MultiNLI's lines of JSON (snli), KorNLI's table (kornli), or KLUE's JSON
(klue). The score is accuracy.
"""

import sys

from elmo_keras.tasks.entail.task import TASK
from elmo_keras.tasks.experiments.experiment import main

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
