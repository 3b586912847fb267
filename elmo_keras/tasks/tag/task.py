"""Trains taggers: parts of speech, named entities, semantic roles.

    python -m elmo_keras.tasks.tag --train train.conllu --dev dev.conllu --output DIR
    python -m elmo_keras.tasks.tag --train train.conll --dev dev.conll --output DIR \\
        --elmo MODEL_DIR --baseline --seeds 1 2 3

Files are CoNLL-U (--kind pos: accuracy), columns with entities as IO, BIO or BIOES
(--kind ner: F1 of entities), KLUE's entities (--kind klue), or columns with the word,
the predicate and a column of BIO tags for each predicate (--kind srl).
"""

import sys

import numpy as np

from elmo_keras.tasks.experiments.experiment import Task, main
from elmo_keras.tasks.models.tagger import Tagger
from elmo_keras.tasks.readers.tagged_text import (
    read_conll,
    read_conllu,
    read_klue,
    read_roles,
)
from elmo_keras.tasks.scores.entities import entity_scores
from elmo_keras.training_arguments import positive, rate

READERS = {
    "pos": read_conllu,
    "ner": read_conll,
    "klue": read_klue,
    "srl": read_roles,
}
PREDICATE_DIM = 10


def add_arguments(parser):
    """The options of taggers only."""
    # At 0.001 it finds no entity for ten epochs of 2,000 sentences.
    parser.set_defaults(learning_rate=3e-3, dropout=0.3)
    add = parser.add_argument_group("tagger").add_argument
    add("--kind", choices=READERS, help="default: pos for *.conllu, ner for others")
    add("--units", type=positive(int), default=100, help="of the LSTM, each direction")
    add("--lstm-dropout", type=rate, default=0.3, help="on the LSTM's output")
    add("--no-crf", action="store_true", help="each tag by itself")


def kind(arguments):
    """What is tagged."""
    if arguments.kind:
        return arguments.kind
    return "pos" if ".conllu" in arguments.train.suffixes else "ner"


def read(path, arguments):
    """The sentences of a file."""
    return READERS[kind(arguments)](path)


def model(token_vectors, examples, arguments):
    """The tagger."""
    tags = sorted({tag for example in examples for tag in example["tags"]})
    return Tagger(
        token_vectors,
        tags,
        arguments.units,
        not arguments.no_crf,
        arguments.lstm_dropout,
        PREDICATE_DIM if kind(arguments) == "srl" else 0,
    )


def targets(examples, tagger):
    """The numbers of the tags."""
    numbers = {tag: number for number, tag in enumerate(tagger.tags)}
    return [np.array([numbers[tag] for tag in e["tags"]]) for e in examples]


def scores(tagger, examples, predictions):
    """F1 of entities where the tags are such, and accuracy."""
    gold = [example["tags"] for example in examples]
    predicted = [
        [tagger.tags[number] for number in numbers[: len(tags)]]
        for numbers, tags in zip(predictions, gold)
    ]
    pairs = [pair for g, p in zip(gold, predicted) for pair in zip(g, p)]
    accuracy = {"accuracy": sum(g == p for g, p in pairs) / max(len(pairs), 1)}
    has_entities = any(tag.startswith("B-") for tag in tagger.tags)
    return entity_scores(gold, predicted) | accuracy if has_entities else accuracy


TASK = Task(
    "tag",
    read,
    ("tokens",),
    targets,
    model,
    scores,
    add_arguments,
    number_fields=("predicate",),
)

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
