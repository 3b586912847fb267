"""Prints the best scores that spans of tokens, and of characters, can reach.

    python -m tests.benchmarks.answer_spans FILE --scores korquad

FILE is one of questions for `elmo_keras.tasks.answer`. The right span of each question
is scored: once with whole tokens, once with the characters of its first and last token
that are not part of the answer cut off. Both have at most as many tokens as the model
gives.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from elmo_keras.tasks.answer import __main__ as task
from elmo_keras.tasks.answer.answerer import LONGEST_ANSWER
from elmo_keras.tasks.answer.offset_tokens import AnswerSpan
from elmo_keras.tasks.answer.squad_scores import CONVENTIONS
from tests.benchmarks import runner
from tests.benchmarks.runner import head, row


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    p = runner.parser(__doc__)
    p.add_argument("files", nargs="+", metavar="FILE", type=Path)
    p.add_argument("--scores", choices=CONVENTIONS, default="squad")
    p.add_argument("--longest-answer", type=int, default=LONGEST_ANSWER)
    return runner.run(p, report, arguments)


def report(files: Sequence[Path], scores: str, longest_answer: int) -> None:
    """Prints the table."""
    head("file", "questions", "of whole tokens", "whole tokens", "characters")
    for file in files:
        row(*cells(file, scores, longest_answer))


def cells(file: Path, convention: str, longest: int) -> tuple[str, ...]:
    """The cells of a file's row: counts, then F1 / exact match of both spans."""
    options = SimpleNamespace(scores=convention, longest_answer=longest)
    examples = task.read(file, options)
    spans = [task.label(example) for example in examples]
    n_whole = sum(max(span.cut_before, span.cut_after) == 0 for span in spans)
    whole = [AnswerSpan(span.first, span.last) for span in spans]
    best = (
        _scored(examples, (_shortened(span, longest) for span in some))
        for some in (whole, spans)
    )
    return file.stem, f"{len(examples):,}", f"{n_whole:,}", *best


def _shortened(span, longest):
    """The span without the tokens after the longest answer of the model."""
    last = min(span.last, span.first + longest - 1)
    return span if last == span.last else span._replace(last=last, cut_after=0)


def _scored(examples, spans):
    found = task.scores(None, examples, list(spans))
    return f"{found['F1']:.2%} / {found['exact match']:.2%}".replace("%", "")


if __name__ == "__main__":
    sys.exit(main())
