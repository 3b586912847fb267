"""The best scores that spans of tokens can reach, with and without learned endings.

    python -m tests.benchmarks.answer_spans FILE --train FILE --metric korquad

FILE is one of questions for `elmo_keras.tasks.answer`. Each right span is scored with
whole tokens, and without the endings that the answers of --train, or of the file itself,
leave out; both with as many tokens as the model gives at most.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Literal

from elmo_keras.tasks.answer.squad import answer_endings, read_squad
from elmo_keras.tasks.answer.task import Answering, label
from elmo_keras.tasks.answer.words import LONGEST_ANSWER
from tests.benchmarks import runner


def main(
    *files: Path,
    train: Path | None = None,
    metric: Literal["squad", "korquad"] = "squad",
    longest_answer: runner.Count = LONGEST_ANSWER,
) -> None:
    runner.head("file", "questions", "whole tokens", "without endings")
    for file in files:
        task = Answering(
            train=file, output=Path("out"), metric=metric, longest_answer=longest_answer
        )
        examples = task.read(file)
        spans = [
            (first, min(last, first + longest_answer - 1))
            for first, last in map(label, examples)
        ]
        cells = []
        for endings in ([], answer_endings(read_squad(train) if train else examples)):
            model = SimpleNamespace(endings=endings)
            scores = task.scores(task.statistics(model, examples, spans))
            cells.append(
                f"{100 * scores['F1']:.2f} / {100 * scores['exact match']:.2f}"
            )
        runner.row(file.stem, len(examples), *cells)


if __name__ == "__main__":
    runner.run(main)
