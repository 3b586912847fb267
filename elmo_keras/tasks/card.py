"""The card of a trained model: its data, its scores and how it was made."""

import collections
import dataclasses
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_keras.tasks.task import Settings, Task
from elmo_keras.util.markdown_table import markdown_table

LABELS, MISTAKES = 20, 8  # of a card, at most
NOTHING = "none"  # where a label is missing

Labels = Mapping[Any, str]  # by what they label, such as a span


def write_card(
    path: Path,
    task: Task,
    settings: Settings,
    data: Mapping[str, Sequence[dict]],
    results: Mapping[str, Any],
    pairs: Iterable[tuple[Labels, Labels]],
) -> None:
    """Writes the card of a model; `pairs` are the expected and predicted labels of dev."""
    folder = settings.output
    head = sum(file.stat().st_size for file in folder.glob("head.*")) / 1e6
    about = (
        f"A head of `{results['settings']['model']}`, {head:.2f} MB in int8"
        if head
        else "A Keras model"
    )
    files = {part: getattr(settings, part) or settings.train for part in data}
    counts = [
        f"{len(examples):,} examples of `{files[part].name}` ({part})"
        for part, examples in data.items()
        if examples
    ]
    parts = {part: results[part] for part in ("dev", "test") if results[part]}
    names = [*results["dev"]]
    rows = [
        [part, *(f"{100 * x:.1f}" for x in s.values())] for part, s in parts.items()
    ]
    sections = [
        f"# {folder.resolve().name}",
        f'{about}, for `elmo_keras.pipeline("{folder}")`, by `elmo-keras {task.name}`.',
        f"**Data.** {'; '.join(counts)}.",
        f"**Scores.** Of {results['epochs']} epochs dev chose number "
        f"{results['best_epoch']}; test chose nothing.",
        markdown_table(["part", *names], rows, n_left=1),
        *scores_by_label(pairs),
        "**Made by**",
        f"```sh\n{command(task, settings)}\n```",
    ]
    path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def command(task: Task, settings: Settings) -> str:
    """The command line of a run, with what is not as it is by default."""
    words = ["elmo-keras", task.name]
    for one in (settings, task):
        for field in dataclasses.fields(one) if dataclasses.is_dataclass(one) else ():
            value = getattr(one, field.name)
            if value is None or value == field.default:
                continue
            values = value if isinstance(value, tuple) else [value]
            values = [] if value is True else map(str, values)
            words += f"--{field.name.replace('_', '-')}", *values
    return shlex.join(words)


def scores_by_label(pairs: Iterable[tuple[Labels, Labels]]) -> list[str]:
    """F1 by label, and the most frequent mistakes, of expected and predicted labels."""
    counts = collections.Counter(
        (expected.get(key, NOTHING), predicted.get(key, NOTHING))
        for expected, predicted in pairs
        for key in {*expected, *predicted}
    )
    expected, predicted = collections.Counter(), collections.Counter()
    for (a, b), n in counts.items():
        expected[a] += n
        predicted[b] += n
    by_label = [
        f"{label} {200 * counts[label, label] / (n + predicted[label]):.1f} ({n:,})"
        for label, n in expected.most_common()
        if label != NOTHING
    ]
    mistakes = [f"{a} → {b} ({n})" for (a, b), n in counts.most_common() if a != b]
    return [
        f"{title}: {', '.join(values)}."
        for title, values in (
            ("F1 by label, with its number in dev", by_label[:LABELS]),
            ("Most frequent mistakes, expected → found", mistakes[:MISTAKES]),
        )
        if values
    ]
