"""The card of a trained head: its data, scores and mistakes."""

import dataclasses
import os
import shlex
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_keras.base.markdown_table import markdown_table
from elmo_keras.heads.evaluation import MAX_LABELS, MAX_MISTAKES, label_statistics
from elmo_keras.heads.task import Settings, Task

DATA = "train", "dev", "test"


def write_card(
    path: Path,
    task: Task,
    settings: Settings,
    examples: Mapping[str, Sequence],
    results: dict[str, Any],
    predictions: Sequence,
) -> None:
    """Writes the card of a finished run.

    Args:
        path: where the card is written.
        task: the task.
        settings: the settings as the user gave them.
        examples: train, dev and test → their examples.
        results: the content of results.json.
        predictions: those for the examples of dev.
    """
    folder = settings.output
    rows = [
        [part, *(f"{100 * x:.1f}" for x in results[part].values())]
        for part in ("dev", "test")
        if results[part]
    ]
    size = sum(file.stat().st_size for file in folder.glob("head.*"))
    head = f"A head of `{results['settings']['model']}`, {size / 1e6:.2f} MB in int8"
    template = Path(__file__).with_name("card.md.in").read_text(encoding="utf-8")
    text = string.Template(template).substitute(
        name=folder.resolve().name,
        model=head if size else "A Keras model",
        folder=folder,
        kind=task.kind,
        data=_data(settings, examples),
        epochs=results["epochs"],
        best_epoch=results["best_epoch"],
        scores=markdown_table(["part", *results["dev"]], rows),
        labels="\n\n".join(_labels(task, examples["dev"], predictions)),
        made_by=_made_by(task, settings),
    )
    path.write_text(text, encoding="utf-8")


def _data(settings, examples):
    parts = []
    for part, rows in examples.items():
        data = getattr(settings, part)
        data = settings.train if data is None else data
        is_file = isinstance(data, (str, os.PathLike))
        source = f" of `{Path(data).name}`" if is_file else ""
        if rows:
            parts.append(f"{len(rows):,} examples{source} ({part})")
    return "; ".join(parts)


def _labels(task, examples, predictions):
    """Lines of F1 by label and of the most frequent mistakes."""
    scores, mistakes = label_statistics(task, examples, predictions)
    rows = [*scores.items()][:MAX_LABELS]
    labels = [f"{name} {100 * x.f1:.1f} ({x.count:,})" for name, x in rows]
    pairs = [f"{m.expected} → {m.predicted} ({m.count})" for m in mistakes]
    if labels:
        yield f"F1 by label, with its number in dev: {', '.join(labels)}."
    if pairs:
        text = ", ".join(pairs[:MAX_MISTAKES])
        yield f"Most frequent mistakes, expected → found: {text}."


def _made_by(task, settings):
    """The command that repeats a run on files, or the call that repeats one in memory."""
    pairs = [
        (field, getattr(options, field.name))
        for options in (settings, task)
        for field in dataclasses.fields(options)
    ]
    values = {
        field.name: str(value) if isinstance(value, os.PathLike) else value
        for field, value in pairs
        if value is not None and (field.name in DATA or value != field.default)
    }
    if not all(isinstance(values.get(name, ""), str) for name in DATA):
        words = [f"{n}={'…' if n in DATA else repr(x)}" for n, x in values.items()]
        return f"```python\ntrain_head({', '.join([repr(task.kind), *words])})\n```"
    words = ["elmo-keras", "train-head", task.kind]
    for name, value in values.items():
        parts = value if isinstance(value, tuple) else [value]
        parts = [] if value is True else map(str, parts)
        words += f"--{name.replace('_', '-')}", *parts
    return f"```sh\n{shlex.join(words)}\n```"
