"""Scores of a head on labelled data: over all, by label, and its most frequent mistakes."""

import collections
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from elmo_keras.heads.examples import read_examples
from elmo_keras.heads.kinds import find_kind, load
from elmo_keras.heads.task import Task

MISSING = "none"  # stands for a missing label
MAX_LABELS, MAX_MISTAKES = 20, 8  # numbers that are printed


class LabelScore(NamedTuple):
    """F1 of a label from 0 to 1, and how often the label is expected."""

    f1: float
    count: int


class Mistake(NamedTuple):
    """An expected label, the one that was predicted in its place, and how often."""

    expected: str
    predicted: str
    count: int


class Evaluation(NamedTuple):
    """How well a head does on labelled examples.

    Attributes:
        scores: the scores of the kind by name, from 0 to 1, the first one decides.
        labels: label → F1 and number, the most frequent first; `{}` for kinds without.
        mistakes: the pairs of an expected and another label, the most frequent first.
        examples: the examples, as the kind's reader gives them.
        predictions: the prediction for each example, in the form of its labels.
        written_fields: the fields of examples that `rows` gives; all if there are none.
    """

    scores: dict[str, float]
    labels: dict[str, LabelScore]
    mistakes: list[Mistake]
    examples: list[dict]
    predictions: list
    written_fields: tuple[str, ...] = ()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields each example with its prediction as `predicted`, in types of JSON."""
        for example, predicted in zip(self.examples, self.predictions):
            names = self.written_fields or example
            yield {name: example[name] for name in names} | {"predicted": predicted}

    def __str__(self) -> str:
        return percentages(self.scores)


def evaluate(pipeline: Any, data: Any, **options: Any) -> Evaluation:
    """Scores a pipeline on labelled data, see `BasePipeline.evaluate`."""
    make = load(find_kind(pipeline.kind).task)
    if "tokenizer" in make.__dataclass_fields__:
        options.setdefault("tokenizer", pipeline.tokenizer)
    task: Task = make(**options)
    examples = read_examples(task, data)
    predictions = pipeline.predict_examples(examples)
    statistics = task.statistics(pipeline.model, examples, predictions)
    labels, mistakes = label_statistics(task, examples, predictions)
    scores = {name: float(x) for name, x in task.scores(statistics).items()}
    written = task.written_fields
    return Evaluation(scores, labels, mistakes, examples, predictions, written)


def label_statistics(
    task: Task, examples: Iterable[dict], predictions: Iterable
) -> tuple[dict[str, LabelScore], list[Mistake]]:
    """F1 by label, and the mistakes, both the most frequent first."""
    pairs = ((task.parts(e), task.parts(e, p)) for e, p in zip(examples, predictions))
    counts = collections.Counter(
        (expected.get(key), predicted.get(key))
        for expected, predicted in pairs
        for key in expected | predicted
    )
    expected, predicted = collections.Counter(), collections.Counter()
    for (a, b), n in counts.items():
        expected[a] += n
        predicted[b] += n
    labels = {
        label: LabelScore(2 * counts[label, label] / (n + predicted[label]), n)
        for label, n in expected.most_common()
        if label is not None
    }
    mistakes = [
        Mistake(a or MISSING, b or MISSING, n)
        for (a, b), n in counts.most_common()
        if a != b
    ]
    return labels, mistakes


def percentages(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * x:.2f}" for name, x in scores.items())
