"""The best scores that spans of tokens, and of characters, can reach.

    python -m tests.benchmarks.answer_spans FILE --metric korquad

FILE is one of questions for `elmo_keras.tasks.answer`. Each right span is scored with
whole tokens, and without the characters of its first and last token that are not part
of the answer; both with as many tokens as the model gives at most.
"""

from pathlib import Path
from typing import Literal

from elmo_keras.tasks.answer.squad import CONVENTIONS
from elmo_keras.tasks.answer.task import Answering, label
from elmo_keras.tasks.answer.words import LONGEST_ANSWER, AnswerSpan
from tests.benchmarks import runner


def main(
    *files: Path,
    metric: Literal[tuple(CONVENTIONS)] = "squad",
    longest_answer: runner.Count = LONGEST_ANSWER,
) -> None:
    runner.head("file", "questions", "of whole tokens", "whole tokens", "characters")
    for file in files:
        task = Answering(
            train=file, output=Path("out"), metric=metric, longest_answer=longest_answer
        )
        examples = task.read(file)
        spans = [label(example) for example in examples]
        n_whole = sum(max(span.cut_before, span.cut_after) == 0 for span in spans)
        whole = [AnswerSpan(span.first, span.last) for span in spans]
        best = []
        for some in (whole, spans):
            given = [shortened(span, longest_answer) for span in some]
            found = task.scores(task.statistics(None, examples, given))
            best.append(f"{100 * found['F1']:.2f} / {100 * found['exact match']:.2f}")
        runner.row(file.stem, len(examples), n_whole, *best)


def shortened(span: AnswerSpan, longest: int) -> AnswerSpan:
    """The span without the tokens after the longest answer of the model."""
    last = min(span.last, span.first + longest - 1)
    return span if last == span.last else span._replace(last=last, cut_after=0)


if __name__ == "__main__":
    runner.run(main)
