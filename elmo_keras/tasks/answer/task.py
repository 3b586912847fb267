"""Trains models that answer questions with a span of a text."""

from typing import NamedTuple

import numpy as np

from elmo_keras.cli.argument_types import positive, rate
from elmo_keras.tasks.answer.answerer import (
    LONGEST_ANSWER,
    NO_ANSWER,
    NOT_KNOWN,
    Answerer,
)
from elmo_keras.tasks.answer.character_cuts import LONGEST_CUT
from elmo_keras.tasks.answer.offset_tokens import AnswerSpan
from elmo_keras.tasks.answer.squad import misplaced_answers, read_squad
from elmo_keras.tasks.answer.squad_scores import CONVENTIONS, squad_scores
from elmo_keras.tasks.experiments.batches import AttentionBatches
from elmo_keras.tasks.experiments.task import Task


class AnswerOptions(NamedTuple):
    """The options of the answerer."""

    units: int
    layer_dropout: float
    scores: str = "squad"
    longest_answer: int = LONGEST_ANSWER


def add_arguments(parser):
    """Adds the answerer's own options."""
    add = parser.add_argument_group("answerer").add_argument
    add("--units", type=positive(int), default=100, help="LSTM size per direction")
    add("--layer-dropout", type=rate, default=0.2, help="on the inputs of layers")
    add(
        "--scores",
        choices=CONVENTIONS,
        default="squad",
        help="whose script: F1 of words (squad, default) or of characters (korquad)",
    )
    add(
        "--longest-answer",
        type=positive(int),
        default=LONGEST_ANSWER,
        metavar="TOKENS",
        help=f"the model gives none that is longer (default: {LONGEST_ANSWER})",
    )


def read(path, options):
    """The questions of a file; prints how many of them training leaves out."""
    examples = read_squad(path)
    if found := misplaced_answers(examples):
        print(f"{path}: {found}.")
    n_left_out = sum(label(e)[0] == NOT_KNOWN for e in examples)
    if n_left_out:
        print(
            f"{path}: {n_left_out:,} of {len(examples):,} questions are scored, but not "
            "trained on: their answers are not at their answer_start, or leave out more "
            f"than {LONGEST_CUT} characters of a token."
        )
    spans = [example["span"] for example in examples if example["span"]]
    n_long = sum(s.last - s.first >= options.longest_answer for s in spans)
    if n_long:
        print(
            f"{path}: {n_long:,} of {len(examples):,} answers have more than "
            f"{options.longest_answer} tokens, which the model does not give "
            "(--longest-answer)."
        )
    return [example | {"scores": options.scores} for example in examples]


def model(token_vectors, examples, options):
    """The answerer."""
    return Answerer(
        token_vectors,
        unanswerable=any(not example["answers"] for example in examples),
        units=options.units,
        dropout=options.layer_dropout,
        within_tokens=any(max(label(example)[2:]) > 0 for example in examples),
        longest_answer=options.longest_answer,
    )


def targets(examples, answerer):
    """The spans of the answers, as many of their fields as the model predicts."""
    n_fields = 4 if answerer.within_tokens else 2
    return [np.array(label(example)[:n_fields]) for example in examples]


def label(example):
    """The `AnswerSpan` of an answer; `NO_ANSWER` or `NOT_KNOWN` without one."""
    if not example["answers"]:
        return AnswerSpan(*[NO_ANSWER] * 4)
    span = example["span"]
    if span is None or max(span.cut_before, span.cut_after) > LONGEST_CUT:
        return AnswerSpan(*[NOT_KNOWN] * 4)
    return span


def scores(answerer, examples, predictions):
    """F1 and exact match of the answers' texts."""
    texts = [
        example["offsets"].text(example["text"], AnswerSpan(*span))
        if span[0] != NO_ANSWER
        else ""
        for example, span in zip(examples, predictions)
    ]
    answers = [example["answers"] for example in examples]
    return squad_scores(texts, answers, CONVENTIONS[examples[0]["scores"]])


TASK = Task(
    name="answer",
    add_arguments=add_arguments,
    options=AnswerOptions,
    read=read,
    text_fields=("context", "question"),
    model=model,
    targets=targets,
    scores=scores,
    batches=AttentionBatches,
)
