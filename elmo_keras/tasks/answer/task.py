"""Trains models that answer questions with a piece of a text.

    python -m elmo_keras.tasks.answer --train train.json --dev dev.json --output DIR
    python -m elmo_keras.tasks.answer --train train.json --dev dev.json --output DIR \\
        --elmo MODEL_DIR --baseline --seeds 1 2 3

Files are SQuAD's JSON, of 1.1 or 2.0; that some questions have no answer is learned
where --train has such. The scores are F1 and exact match, by SQuAD's arithmetic.
"""

import sys

import numpy as np

from elmo_keras.tasks.experiments.experiment import Task, main
from elmo_keras.tasks.models.answerer import NO_ANSWER, NOT_KNOWN, Answerer
from elmo_keras.tasks.readers.squad import read_squad, unaligned
from elmo_keras.tasks.scores.squad_scores import squad_scores
from elmo_keras.training_arguments import positive, rate


def add_arguments(parser):
    """The options of answerers only."""
    add = parser.add_argument_group("answerer").add_argument
    add("--units", type=positive(int), default=100, help="of LSTMs, each direction")
    add("--layer-dropout", type=rate, default=0.2, help="on what goes into layers")


def read(path, arguments):
    """The questions of a file; how many can't be trained on is told."""
    examples = read_squad(path)
    n_unaligned = unaligned(examples)
    if n_unaligned:
        print(
            f"{path}: {n_unaligned:,} of {len(examples):,} questions have no answer "
            "that stands at its offset and is made of whole tokens; they are scored, "
            "but not trained on."
        )
    return examples


def model(token_vectors, examples, arguments):
    """The answerer."""
    return Answerer(
        token_vectors,
        any(not example["answers"] for example in examples),
        arguments.units,
        arguments.layer_dropout,
    )


def targets(examples, answerer):
    """First and last token of each answer."""
    return [np.array(label(example)) for example in examples]


def label(example):
    """First and last token of an answer, or what stands for there being none."""
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
    "answer", read, ("context", "question"), targets, model, scores, add_arguments
)

if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
