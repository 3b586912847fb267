"""Trains models that answer questions with a span of a text."""

from typing import NamedTuple

import numpy as np

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.answer.answerer import NO_ANSWER, NOT_KNOWN, Answerer
from elmo_keras.tasks.answer.squad import read_squad, unaligned
from elmo_keras.tasks.answer.squad_scores import squad_scores
from elmo_keras.tasks.experiments.task import Task


class AnswerOptions(NamedTuple):
    """The options of the answerer."""

    units: int
    layer_dropout: float


def add_arguments(parser):
    """Adds the answerer's own options."""
    add = parser.add_argument_group("answerer").add_argument
    add("--units", type=positive(int), default=100, help="LSTM size per direction")
    add("--layer-dropout", type=rate, default=0.2, help="on the inputs of layers")


def read(path, options):
    """The questions of a file; prints how many of them training leaves out."""
    examples = read_squad(path)
    n_unaligned = unaligned(examples)
    if n_unaligned:
        print(
            f"{path}: {n_unaligned:,} of {len(examples):,} questions have no answer "
            "that is at its offset and consists of whole tokens; they are scored, but "
            "not trained on."
        )
    return examples


def model(token_vectors, examples, options):
    """The answerer."""
    return Answerer(
        token_vectors,
        unanswerable=any(not example["answers"] for example in examples),
        units=options.units,
        dropout=options.layer_dropout,
    )


def targets(examples, answerer):
    """First and last token of each answer."""
    return [np.array(label(example)) for example in examples]


def label(example):
    """First and last token of an answer; `NO_ANSWER` or `NOT_KNOWN` without one."""
    if not example["answers"]:
        return [NO_ANSWER] * 2
    return example["span"] or [NOT_KNOWN] * 2


def scores(answerer, examples, predictions):
    """F1 and exact match of the answers' texts."""
    texts = [
        ""
        if first == NO_ANSWER
        else example["offsets"].text(example["text"], first, last)
        for example, (first, last) in zip(examples, predictions)
    ]
    return squad_scores(texts, [example["answers"] for example in examples])


TASK = Task(
    name="answer",
    add_arguments=add_arguments,
    options=AnswerOptions,
    read=read,
    text_fields=("context", "question"),
    model=model,
    targets=targets,
    scores=scores,
)
