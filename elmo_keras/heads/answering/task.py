"""Question answering as a task."""

import dataclasses
from typing import Literal

import numpy as np

from elmo_keras.base.argument_checks import warn
from elmo_keras.commands.arguments import Count
from elmo_keras.heads.answering import readers, scores
from elmo_keras.heads.answering.decoding import (
    LONGEST_ANSWER,
    NO_ANSWER,
    NOT_KNOWN,
    best_answer,
)
from elmo_keras.heads.task import Task


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answering(Task):
    """Trains a model that answers questions with a span of a text.

    Files are SQuAD's JSON, version 1.1 or 2.0, or JSON lines with the columns of Hugging
    Face's data sets; a model learns that some questions have no answer if --train has
    such questions, and gives none where that raises F1 on the held-out ones. The scores
    are F1 and exact match as SQuAD's scripts compute them.

        elmo-keras train-head qa --train train.json --dev dev.json --output DIR

    Args:
        metric: squad's F1 counts words, korquad's characters
        longest_answer: maximum length of an answer in tokens
    """

    metric: Literal["squad", "korquad"] = "squad"
    longest_answer: Count = LONGEST_ANSWER

    kind = "qa"
    text_fields = row_fields = "context", "question"
    written_fields = "id", "question", "text", "answers"

    def read(self, path):
        """The questions of a file; warns of answers that are not at their offset."""
        return _warn_of_misplaced(readers.read_squad(path), path)

    def read_rows(self, rows, source):
        return _warn_of_misplaced(readers.read_questions(rows, source), source)

    def check(self, train, others):
        if not any(example["span"] for example in train):
            raise ValueError("train should have an answer at its `answer_start`.")
        super().check(train, others)

    def model_options(self, examples):
        return {
            "unanswerable": any(not example["answers"] for example in examples),
            "endings": readers.answer_endings(examples),
            "longest_answer": self.longest_answer,
        }

    def targets(self, examples, model):
        """First and last token of each answer; `NO_ANSWER` or `NOT_KNOWN` without one."""
        none = {True: (NOT_KNOWN,) * 2, False: (NO_ANSWER,) * 2}
        return [np.array(e["span"] or none[bool(e["answers"])]) for e in examples]

    def statistics(self, model, examples, results):
        answers = [example["answers"] for example in examples]
        return scores.squad_statistics(results, answers, self.metric)

    def scores(self, statistics):
        return scores.squad_scores(statistics)

    def calibrate(self, model, batches):
        """Moves the score of no answer to where F1 of the examples is the highest."""
        if not model.unanswerable:
            return
        outputs = model.example_scores(batches)
        answers = [best_answer(scores, self.longest_answer) for scores in outputs]
        margins = np.array([answer.score - answer.none for answer in answers])
        spans = [answer.span for answer in answers]
        results = [model.result(*pair) for pair in zip(batches.examples, spans)]
        f1, _, has_answer = self.statistics(model, batches.examples, results).T
        order = np.argsort(-margins)
        gains = np.cumsum((f1 - ~has_answer.astype(bool))[order])
        n_answered = 1 + int(np.argmax(gains)) if gains.max() > 0 else 0
        edges = [margins.max() + 1, *margins[order], margins.min() - 1]
        shift = np.mean(edges[n_answered : n_answered + 2])
        model.no_answer_score.bias.assign_add([shift])


def _warn_of_misplaced(examples, source):
    if n_misplaced := sum(example["n_misplaced"] for example in examples):
        warn(
            f"{source}: answers that are not at their answer_start: {n_misplaced:,}. "
            "Questions without another one are scored, but not trained on.",
        )
    return examples
