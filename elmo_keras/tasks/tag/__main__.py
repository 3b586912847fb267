"""Trains taggers: parts of speech, named entities, semantic roles.

    python -m elmo_keras.tasks.tag --train train.conllu --dev dev.conllu --output DIR
    python -m elmo_keras.tasks.tag --train train.conll --dev dev.conll --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are CoNLL-U (--kind pos: accuracy), columns with entities as IO, BIO or BIOES
(--kind ner: F1 of entities), KLUE's entities (--kind klue), or columns with the word,
the predicate and a column of BIO tags for each predicate (--kind srl: F1 of arguments
as the script of CoNLL-2005 counts, without the predicate itself, which is given).
"""

import operator
import sys

import numpy as np

from elmo_keras.tasks.experiments.experiment_arguments import main
from elmo_keras.tasks.experiments.task import DROPOUT, UNITS, Task, of_model
from elmo_keras.tasks.tag.entities import (
    arguments,
    entities,
    marks_spans,
    span_numbers,
    span_scores,
)
from elmo_keras.tasks.tag.tagged_text import READERS

PREDICATE_DIM = 10


def kind(options):
    return options.kind or ("pos" if ".conllu" in options.train.suffixes else "ner")


def read(path, options):
    return READERS[kind(options)](path)


def of_examples(examples, options):
    return {
        "tags": sorted({tag for example in examples for tag in example["tags"]}),
        "crf": not options.no_crf,
        "predicate_dim": PREDICATE_DIM if kind(options) == "srl" else 0,
    }


def targets(examples, tagger):
    return [np.array([tagger.tags.index(tag) for tag in e["tags"]]) for e in examples]


def numbers(tagger, examples, predictions):
    """Tags that are right, tags; if they mark spans also spans right, there and found."""
    spans_of = arguments if tagger.predicate_dim else entities
    rows = []
    for example, found in zip(examples, predictions, strict=True):
        gold = example["tags"]
        own = [tagger.tags[number] for number in found[: len(gold)]]
        row = [sum(map(operator.eq, gold, own)), len(gold)]
        if tagger.predicate_dim or marks_spans(tagger.tags):
            row += span_numbers(spans_of(gold), spans_of(own))
        rows.append(row)
    return np.array(rows)


def scores(numbers):
    n_right, n_tags, *spans = numbers.sum(axis=0)
    accuracy = {"accuracy": n_right / max(n_tags, 1)}
    return (span_scores(*spans) if spans else {}) | accuracy


TASK = Task(
    name="tag",
    model_path="tag.tagger.Tagger",
    options={
        "kind": dict(help="default: pos for *.conllu, ner for others", choices=READERS),
        "units": of_model("units", 100, UNITS),
        "lstm_dropout": of_model("dropout", 0.5, DROPOUT),
        "no_crf": dict(help="decide each tag independently", action="store_true"),
    },
    # With a learning rate of 0.001, ten epochs of 2,000 sentences find no entity.
    defaults={"learning_rate": 3e-3, "dropout": 0.3, "lstm_dropout": 0.3},
    read=read,
    of_examples=of_examples,
    targets=targets,
    numbers=numbers,
    scores=scores,
    number_fields=("predicate",),
)


if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
