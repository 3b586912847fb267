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

import numpy as np

from elmo_keras.tasks.coreference.coreference_scores import (
    coreference_numbers,
    coreference_scores,
    linear_sum_assignment,
)
from elmo_keras.tasks.coreference.documents import (
    has_singletons,
    read_conll_2012,
    windows,
    without_singletons,
)
from elmo_keras.tasks.experiments.experiment_arguments import main
from elmo_keras.tasks.experiments.task import UNITS, Task, of_model
from elmo_keras.util.argument_types import positive


def read(path, options):
    """The documents of a file; those of the training file are cut into parts."""
    linear_sum_assignment()  # fails before training if SciPy is missing
    documents = read_conll_2012(path)
    if options.no_singletons:
        documents = [without_singletons(document) for document in documents]
    if path != options.train:
        return documents
    kept = has_singletons(documents)
    return [part for d in documents for part in windows(d, options.sentences, kept)]


def targets(examples, coreferent):
    return [
        np.array(
            [
                (*mention, number)
                for number, cluster in enumerate(example["clusters"])
                for mention in cluster
            ],
            "int32",
        ).reshape(-1, 3)
        for example in examples
    ]


def numbers(coreferent, examples, predictions):
    """Entities mentioned once count if the model learned such."""
    from elmo_keras.tasks.coreference.coreferent import clusters  # by Keras

    if not coreferent.singletons:
        examples = [without_singletons(example) for example in examples]
    return coreference_numbers(
        [example["clusters"] for example in examples],
        [clusters(links, coreferent.singletons) for links in predictions],
    )


TASK = Task(
    name="coreference",
    model_path="coreference.coreferent.Coreferent",
    options={
        "units": of_model("units", 100, UNITS),
        "hidden_units": of_model("hidden_units", 150, "scoring layers' size"),
        "layer_dropout": of_model("dropout", 0.3, "on LSTM and hidden layers"),
        "longest": of_model("longest", 10, "maximum tokens of a mention"),
        "mentions_per_token": of_model(
            "mentions_per_token", 0.4, "how many spans are kept", metavar="λ"
        ),
        "most_antecedents": of_model("most_antecedents", 50, "per mention"),
        "sentences": dict(help="per part, in training", type=positive(int), default=25),
        "no_singletons": dict(
            help="leave out entities mentioned once, even if --train has such",
            action="store_true",
        ),
    },
    read=read,
    of_examples=lambda examples, options: {"singletons": has_singletons(examples)},
    targets=targets,
    numbers=numbers,
    scores=coreference_scores,
    batches_path="coreference.document_batches.DocumentBatches",
)


if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
