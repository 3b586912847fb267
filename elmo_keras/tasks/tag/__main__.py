"""Trains taggers: parts of speech, named entities, semantic roles.

    python -m elmo_keras.tasks.tag --train train.conllu --dev dev.conllu --output DIR
    python -m elmo_keras.tasks.tag --train train.conll --dev dev.conll --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are CoNLL-U (--kind pos: accuracy), columns with entities as IO, BIO or BIOES
(--kind ner: F1 of entities), KLUE's entities (--kind klue), or columns with the word,
the predicate and a column of BIO tags for each predicate (--kind srl: F1 of arguments
as the script of CoNLL-2005 counts, without the predicate itself, which is given).
"""

import sys

from elmo_keras.tasks.arguments import UNITS, main
from elmo_keras.tasks.tag.tagged_text import READERS
from elmo_keras.tasks.tag.task import Tagging
from elmo_keras.util.argument_types import rate

TASK = Tagging
OPTIONS = {
    "kind": dict(choices=READERS, help="default: pos for *.conllu, ner for others"),
    "units": UNITS,
    "lstm_dropout": dict(type=rate, help="on the LSTM's output"),
    "no_crf": dict(action="store_true", help="decide each tag independently"),
}


if __name__ == "__main__":
    sys.exit(main(TASK, OPTIONS, __doc__))
