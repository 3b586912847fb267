"""The task `answer`: questions, answered with a span of a text."""

import dataclasses
from typing import Literal

import numpy as np

from elmo_keras.tasks.answer.squad import (
    answer_endings,
    read_squad,
    squad_scores,
    squad_statistics,
)
from elmo_keras.tasks.answer_text import LONGEST_ANSWER, NO_ANSWER, NOT_KNOWN
from elmo_keras.tasks.task import Task
from elmo_keras.util.arguments import Count


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answering(Task):
    """Answers questions with a span of a text: the settings of `Task`, and these.

    Args:
        metric: `"squad"`, whose F1 counts words, or `"korquad"`, characters.
        longest_answer: maximum length of an answer in tokens.
    """

    metric: Literal["squad", "korquad"] = "squad"
    longest_answer: Count = LONGEST_ANSWER

    name = "answer"
    text_fields = "context", "question"
    compares_tokens = True

    def read(self, path):
        """The questions of a file; prints how many answers are not at their offset."""
        examples = read_squad(path)
        if n_misplaced := sum(example["n_misplaced"] for example in examples):
            if not any(example["span"] for example in examples):
                raise ValueError(
                    f"{path}: answer_start should be the number of characters in the "
                    "context before an answer. No answer is there."
                )
            print(
                f"{path}: answers that are not at their answer_start: {n_misplaced:,}. "
                "Questions without another one are scored, but not trained on."
            )
        return examples

    def model(self, token_vectors, examples):
        from elmo_keras.tasks.answering import QuestionAnswering

        return QuestionAnswering(
            token_vectors,
            unanswerable=any(not example["answers"] for example in examples),
            units=self.units,
            dropout=self.layer_dropout,
            endings=answer_endings(examples),
            longest_answer=self.longest_answer,
        )

    def targets(self, examples, model):
        return [np.array(label(example)) for example in examples]

    def statistics(self, model, examples, predictions):
        texts = [
            example["offsets"].answer(example["text"], first, last, model.endings)
            if first != NO_ANSWER
            else ""
            for example, (first, last) in zip(examples, predictions)
        ]
        answers = [example["answers"] for example in examples]
        return squad_statistics(texts, answers, self.metric)

    def scores(self, statistics):
        return squad_scores(statistics)

    def calibrate(self, model, examples, batches):
        """Moves the score of no answer to where F1 of the examples is the highest."""
        if not model.unanswerable:
            return
        from elmo_keras.tasks.batches import predictions  # by TensorFlow

        margins = np.array(predictions(model.margins, batches), float)
        bias = model.no_answer_score.bias
        (before,) = bias.numpy()
        bias.assign([before + margins.min() - 1])  # below all spans
        spans = predictions(model.predict_on_batch, batches)
        f1, _, has_answer = self.statistics(model, examples, spans).T
        order = np.argsort(-margins)
        gains = np.cumsum((f1 - ~has_answer.astype(bool))[order])
        n_answered = 1 + int(np.argmax(gains)) if gains.max() > 0 else 0
        edges = [margins.max() + 1, *margins[order], margins.min() - 1]
        bias.assign([before + np.mean(edges[n_answered : n_answered + 2])])


def label(example: dict) -> tuple[int, int]:
    """First and last token of an answer; `NO_ANSWER` or `NOT_KNOWN` without one."""
    if not example["answers"]:
        return NO_ANSWER, NO_ANSWER
    return example["span"] or (NOT_KNOWN, NOT_KNOWN)
