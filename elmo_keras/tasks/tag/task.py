"""Trains taggers: parts of speech, named entities, semantic roles."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.tag.entities import entity_scores
from elmo_keras.tasks.tag.role_scores import role_scores
from elmo_keras.tasks.tag.tag_spans import marks_spans
from elmo_keras.tasks.tag.tagged_text import (
    read_conll,
    read_conllu,
    read_klue,
    read_roles,
)
from elmo_keras.tasks.tag.tagger import Tagger

READERS = {
    "pos": read_conllu,
    "ner": read_conll,
    "klue": read_klue,
    "srl": read_roles,
}
PREDICATE_DIM = 10


class TagOptions(NamedTuple):
    """The options of the tagger, and the training file, whose name decides the kind."""

    train: Path
    kind: str | None
    units: int
    lstm_dropout: float
    no_crf: bool

    @property
    def reader(self) -> str:
        """The requested kind, or the one that the training file's name implies."""
        return self.kind or ("pos" if ".conllu" in self.train.suffixes else "ner")


def add_arguments(parser):
    """Adds the tagger's own options."""
    # With a learning rate of 0.001, ten epochs of 2,000 sentences find no entity.
    parser.set_defaults(learning_rate=3e-3, dropout=0.3)
    add = parser.add_argument_group("tagger").add_argument
    add("--kind", choices=READERS, help="default: pos for *.conllu, ner for others")
    add("--units", type=positive(int), default=100, help="LSTM size per direction")
    add("--lstm-dropout", type=rate, default=0.3, help="on the LSTM's output")
    add("--no-crf", action="store_true", help="decide each tag independently")


def read(path, options):
    """The sentences of a file."""
    return READERS[options.reader](path)


def model(token_vectors, examples, options):
    """The tagger."""
    tags = sorted({tag for example in examples for tag in example["tags"]})
    return Tagger(
        token_vectors,
        tags,
        units=options.units,
        crf=not options.no_crf,
        dropout=options.lstm_dropout,
        predicate_dim=PREDICATE_DIM if options.reader == "srl" else 0,
    )


def targets(examples, tagger):
    """The numbers of the tags."""
    numbers = {tag: number for number, tag in enumerate(tagger.tags)}
    return [np.array([numbers[tag] for tag in e["tags"]]) for e in examples]


def scores(tagger, examples, predictions):
    """F1 of entities or of a predicate's arguments, where tags mark such, and accuracy."""
    gold = [example["tags"] for example in examples]
    predicted = [
        [tagger.tags[number] for number in numbers[: len(tags)]]
        for numbers, tags in zip(predictions, gold)
    ]
    pairs = [pair for g, p in zip(gold, predicted) for pair in zip(g, p)]
    accuracy = {"accuracy": sum(g == p for g, p in pairs) / max(len(pairs), 1)}
    if tagger.predicate_dim:
        return role_scores(gold, predicted) | accuracy
    if not marks_spans(tagger.tags):
        return accuracy
    return entity_scores(gold, predicted) | accuracy


TASK = Task(
    name="tag",
    add_arguments=add_arguments,
    options=TagOptions,
    read=read,
    text_fields=("tokens",),
    model=model,
    targets=targets,
    scores=scores,
    number_fields=("predicate",),
)
