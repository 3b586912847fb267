"""The best scores that spans of tokens, and of characters, can reach.

    python -m tests.benchmarks.answer_spans FILE --scores korquad

FILE is one of questions for `elmo_keras.tasks.answer`. Each right span is scored with
whole tokens, and without the characters of its first and last token that are not part
of the answer; both with as many tokens as the model gives at most.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Literal

from elmo_keras.tasks.answer import __main__ as task
from elmo_keras.tasks.answer.answerer import LONGEST_ANSWER
from elmo_keras.tasks.answer.squad import CONVENTIONS
from elmo_keras.tasks.answer.words import AnswerSpan
from tests.benchmarks import runner


def main(
    *files: Path,
    scores: Literal[tuple(CONVENTIONS)] = "squad",
    longest_answer: runner.Count = LONGEST_ANSWER,
) -> None:
    options = SimpleNamespace(scores=scores, longest_answer=longest_answer)
    runner.head("file", "questions", "of whole tokens", "whole tokens", "characters")
    for file in files:
        examples = task.read(file, options)
        spans = [task.label(example) for example in examples]
        n_whole = sum(max(span.cut_before, span.cut_after) == 0 for span in spans)
        whole = [AnswerSpan(span.first, span.last) for span in spans]
        best = []
        for some in (whole, spans):
            given = [shortened(span, longest_answer) for span in some]
            found = task.squad_scores(task.numbers(None, examples, given))
            best.append(f"{100 * found['F1']:.2f} / {100 * found['exact match']:.2f}")
        runner.row(file.stem, len(examples), n_whole, *best)


def shortened(span: AnswerSpan, longest: int) -> AnswerSpan:
    """The span without the tokens after the longest answer of the model."""
    last = min(span.last, span.first + longest - 1)
    return span if last == span.last else span._replace(last=last, cut_after=0)


if __name__ == "__main__":
    runner.run(main)
