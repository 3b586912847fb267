"""Trains models that answer questions with a span of a text.

    python -m elmo_keras.tasks.answer --train train.json --dev dev.json --output DIR
    python -m elmo_keras.tasks.answer --train train.json --dev dev.json --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are SQuAD's JSON, version 1.1 or 2.0; a model learns that some questions have no
answer if --train has such questions, and gives none where that raises F1 on the
held-out ones. The scores are F1 and exact match as SQuAD's
scripts compute them.
"""

import sys

from elmo_keras.tasks.answer.squad import CONVENTIONS
from elmo_keras.tasks.answer.task import Answering
from elmo_keras.tasks.answer.words import LONGEST_ANSWER
from elmo_keras.tasks.arguments import COUNT, UNITS, main
from elmo_keras.util.argument_types import rate

TASK = Answering
OPTIONS = {
    "units": UNITS,
    "layer_dropout": dict(type=rate, help="on the inputs of layers"),
    "metric": dict(
        choices=CONVENTIONS,
        help="F1 of words (squad, default) or of characters (korquad)",
    ),
    "longest_answer": dict(
        type=COUNT, metavar="TOKENS", help=f"default: {LONGEST_ANSWER}"
    ),
}


if __name__ == "__main__":
    sys.exit(main(TASK, OPTIONS, __doc__))
