"""Trains models of coreference: which mentions are about the same thing.

    python -m elmo_keras.tasks.coreference --train train.conll --dev dev.conll \\
        --output DIR
    python -m elmo_keras.tasks.coreference --train train.conll --dev dev.conll \\
        --output DIR --elmo MODEL_DIR --baseline --seeds 1 2 3

Files have the columns of CoNLL-2012. Each step reads one document, so --batch-size has
no effect; the documents of --train are cut into parts of --sentences. The first score
is the average of the F1 of MUC, B³ and CEAF φ4.
"""

import sys

import numpy as np

from elmo_keras.tasks.experiments.documents import DocumentBatches, windows
from elmo_keras.tasks.experiments.experiment import Task, main
from elmo_keras.tasks.models.coreferent import Coreferent, clusters
from elmo_keras.tasks.readers.conll_2012 import read_conll_2012
from elmo_keras.tasks.scores.coreference_scores import coreference_scores
from elmo_keras.training_arguments import positive, rate


def add_arguments(parser):
    """The options of coreference only."""
    add = parser.add_argument_group("coreference").add_argument
    add("--units", type=positive(int), default=100, help="of the LSTM, each direction")
    add("--hidden-units", type=positive(int), default=150, help="of what scores")
    add("--layer-dropout", type=rate, default=0.3, help="on LSTM and hidden layers")
    add("--longest", type=positive(int), default=10, help="tokens of a mention")
    add("--mentions-per-token", type=positive(float), default=0.4, metavar="λ")
    add("--most-antecedents", type=positive(int), default=50, help="of a mention")
    add("--sentences", type=positive(int), default=25, help="of a part in training")


def read(path, arguments):
    """The documents of a file; those to train on in parts."""
    documents = read_conll_2012(path)
    if path != arguments.train:
        return documents
    return [part for d in documents for part in windows(d, arguments.sentences)]


def model(token_vectors, examples, arguments):
    """The model."""
    return Coreferent(
        token_vectors,
        arguments.units,
        arguments.hidden_units,
        arguments.longest,
        arguments.mentions_per_token,
        arguments.most_antecedents,
        arguments.layer_dropout,
    )


def targets(examples, coreferent):
    """First token, last token and cluster of each mention."""
    return [
        np.array(
            [
                (first, last, number)
                for number, cluster in enumerate(example["clusters"])
                for first, last in cluster
            ],
            "int32",
        ).reshape(-1, 3)
        for example in examples
    ]


def scores(coreferent, examples, predictions):
    """F1 of the clusters."""
    return coreference_scores(
        [example["clusters"] for example in examples],
        [clusters(links) for links in predictions],
    )


TASK = Task(
    "coreference",
    read,
    ("sentences",),
    targets,
    model,
    scores,
    add_arguments,
    batches=DocumentBatches,
)

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
