"""Trains models that answer questions with a span of a text.

    python -m elmo_keras.tasks.answer --train train.json --dev dev.json --output DIR
    python -m elmo_keras.tasks.answer --train train.json --dev dev.json --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are SQuAD's JSON, version 1.1 or 2.0; a model learns that some questions have no
answer if --train has such questions. The scores are F1 and exact match as SQuAD's
scripts compute them.
"""

import sys

from elmo_keras.tasks.answer.task import TASK
from elmo_keras.tasks.experiments.experiment import main

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
