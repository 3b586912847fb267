"""Trains models that answer questions with a span of a text.

    python -m elmo_keras.tasks.answer --train train.json --dev dev.json --output DIR
    python -m elmo_keras.tasks.answer --train train.json --dev dev.json --output DIR \\
        --elmo MODEL --baseline --seeds 1 2 3

Files are SQuAD's JSON, version 1.1 or 2.0; a model learns that some questions have no
answer if --train has such questions, and gives none where that raises F1 on the
held-out ones. The scores are F1 and exact match as SQuAD's
scripts compute them.
"""

import sys

import numpy as np

from elmo_keras.tasks.answer.squad import (
    CONVENTIONS,
    misplaced_answers,
    read_squad,
    squad_numbers,
    squad_scores,
)
from elmo_keras.tasks.answer.words import (
    LONGEST_ANSWER,
    LONGEST_CUT,
    NO_ANSWER,
    NOT_KNOWN,
    AnswerSpan,
)
from elmo_keras.tasks.experiments.experiment_arguments import main
from elmo_keras.tasks.experiments.task import UNITS, Task, of_model


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


def of_examples(examples, options):
    return {
        "unanswerable": any(not example["answers"] for example in examples),
        "within_tokens": any(max(label(example)[2:]) > 0 for example in examples),
    }


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


def numbers(answerer, examples, predictions):
    texts = [
        example["offsets"].text(example["text"], AnswerSpan(*span))
        if span[0] != NO_ANSWER
        else ""
        for example, span in zip(examples, predictions)
    ]
    answers = [example["answers"] for example in examples]
    return squad_numbers(texts, answers, CONVENTIONS[examples[0]["scores"]])


def calibrate(answerer, examples, batches):
    """Moves the score of no answer to where F1 of the examples is the highest."""
    if not answerer.unanswerable:
        return
    from elmo_keras.tasks.experiments.batches import predictions  # by TensorFlow

    margins = np.empty(len(examples))
    for rows in batches.by_length():
        margins[rows] = answerer.margins(batches.inputs(rows))
    bias = answerer.no_answer_score.bias
    (kept,) = bias.numpy()
    bias.assign([kept + margins.min() - 1])  # below all spans
    found = predictions(answerer, batches)
    f1, _, has_answer = numbers(answerer, examples, found).T
    order = np.argsort(-margins)
    gains = np.cumsum((f1 - ~has_answer.astype(bool))[order])
    n_answered = 1 + int(np.argmax(gains)) if gains.max() > 0 else 0
    edges = [margins.max() + 1, *margins[order], margins.min() - 1]
    bias.assign([kept + np.mean(edges[n_answered : n_answered + 2])])


TASK = Task(
    name="answer",
    model_path="answer.answerer.Answerer",
    options={
        "units": of_model("units", 100, UNITS),
        "layer_dropout": of_model("dropout", 0.2, "on the inputs of layers"),
        "scores": dict(
            help="whose script: F1 of words (squad, default) or of characters (korquad)",
            choices=CONVENTIONS,
            default="squad",
        ),
        "longest_answer": of_model(
            "longest_answer",
            LONGEST_ANSWER,
            f"the model gives none that is longer (default: {LONGEST_ANSWER})",
            metavar="TOKENS",
        ),
    },
    read=read,
    of_examples=of_examples,
    targets=targets,
    numbers=numbers,
    scores=squad_scores,
    calibrate=calibrate,
)


if __name__ == "__main__":
    sys.exit(main(TASK, __doc__))
