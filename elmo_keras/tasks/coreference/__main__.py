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

from elmo_keras.tasks.coreference.task import TASK
from elmo_keras.tasks.experiments.experiment import main

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
