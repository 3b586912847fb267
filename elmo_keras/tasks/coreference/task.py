"""Trains models of coreference: which mentions refer to the same entity."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.coreference.conll_2012 import read_conll_2012
from elmo_keras.tasks.coreference.coreference_scores import (
    coreference_scores,
    linear_sum_assignment,
)
from elmo_keras.tasks.coreference.coreferent import Coreferent, clusters
from elmo_keras.tasks.coreference.document_batches import DocumentBatches
from elmo_keras.tasks.coreference.documents import (
    has_singletons,
    windows,
    without_singletons,
)
from elmo_keras.tasks.experiments.task import Task


class CoreferenceOptions(NamedTuple):
    """The model's options, and the training file, which is read in parts."""

    train: Path
    units: int
    hidden_units: int
    layer_dropout: float
    longest: int
    mentions_per_token: float
    most_antecedents: int
    sentences: int
    no_singletons: bool = False


def add_arguments(parser):
    """Adds the coreference model's own options."""
    add = parser.add_argument_group("coreference").add_argument
    add("--units", type=positive(int), default=100, help="LSTM size per direction")
    add("--hidden-units", type=positive(int), default=150, help="scoring layers' size")
    add("--layer-dropout", type=rate, default=0.3, help="on LSTM and hidden layers")
    add(
        "--longest",
        type=positive(int),
        default=10,
        help="maximum length of a mention, in tokens",
    )
    add("--mentions-per-token", type=positive(float), default=0.4, metavar="λ")
    add(
        "--most-antecedents", type=positive(int), default=50, help="maximum per mention"
    )
    add("--sentences", type=positive(int), default=25, help="per part, in training")
    add(
        "--no-singletons",
        action="store_true",
        help="leave out entities mentioned once, if --train has such; otherwise they "
        "are learned and scored",
    )


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


def model(token_vectors, examples, options):
    """The coreference model."""
    return Coreferent(
        token_vectors,
        units=options.units,
        hidden_units=options.hidden_units,
        longest=options.longest,
        mentions_per_token=options.mentions_per_token,
        most_antecedents=options.most_antecedents,
        dropout=options.layer_dropout,
        singletons=has_singletons(examples),
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
    """F1 of the clusters; entities mentioned once count if the model learned such."""
    if not coreferent.singletons:
        examples = [without_singletons(example) for example in examples]
    return coreference_scores(
        [example["clusters"] for example in examples],
        [clusters(links, coreferent.singletons) for links in predictions],
    )


TASK = Task(
    name="coreference",
    add_arguments=add_arguments,
    options=CoreferenceOptions,
    read=read,
    text_fields=("sentences",),
    model=model,
    targets=targets,
    scores=scores,
    batches=DocumentBatches,
)
