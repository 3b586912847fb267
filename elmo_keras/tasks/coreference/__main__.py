"""Trains models of coreference: which mentions refer to the same entity.

    python -m elmo_keras.tasks.coreference --train train.conll --dev dev.conll \\
        --output DIR
    python -m elmo_keras.tasks.coreference --train train.conll --dev dev.conll \\
        --output DIR --elmo MODEL --baseline --seeds 1 2 3

Files have the columns of CoNLL-2012. Each step reads one document, so --batch-size has
no effect; the documents of --train are cut into parts of --sentences. The first score
is the mean F1 of MUC, B³ and CEAF φ4. Whether entities that are mentioned only once are
learned, found and scored depends on --train: they are if it has such, unless
--no-singletons leaves them out of all files.
"""

import sys

from elmo_keras.tasks.arguments import COUNT, UNITS, main
from elmo_keras.tasks.coreference.task import Coreference
from elmo_keras.util.argument_types import positive, rate

TASK = Coreference
OPTIONS = {
    "units": UNITS,
    "hidden_units": dict(type=COUNT, help="scoring layers' size"),
    "layer_dropout": dict(type=rate, help="on LSTM and hidden layers"),
    "longest": dict(type=COUNT, help="maximum tokens of a mention"),
    "mentions_per_token": dict(
        type=positive(float), metavar="λ", help="how many spans are kept"
    ),
    "max_antecedents": dict(type=COUNT, help="per mention"),
    "sentences": dict(type=COUNT, help="per part, in training"),
    "no_singletons": dict(
        action="store_true",
        help="leave out entities mentioned once, even if --train has such",
    ),
}


if __name__ == "__main__":
    sys.exit(main(TASK, OPTIONS, __doc__))
