"""Trains a head on labelled data; a finished run is kept."""

import contextlib
import dataclasses
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elmo_keras.heads.kinds import find_kind, load
from elmo_keras.heads.pipeline import BasePipeline, pipeline
from elmo_keras.heads.run import seeded, train_task
from elmo_keras.heads.task import NONE, Settings, Task


def train_head(
    kind: str,
    *,
    train: Any,
    output: str | Path | None = None,
    dev: Any = None,
    test: Any = None,
    progress: bool = False,
    **settings: Any,
) -> BasePipeline:
    """Trains a head on labelled data, and returns its pipeline.

    Args:
        kind: pos, ner, srl, ud, coref, qa, classify or entail.
        train: labelled data: a file of the kind, see `elmo-keras train-head KIND --help`; a
            list of dicts with the fields of its files of JSON; a pair of texts and labels;
            a data frame; or a data set of Hugging Face.
        output: folder of the head, its card, model.keras and results.json; a finished run is
            not repeated. None for a temporary folder, see `save` of the pipeline.
        dev: labelled data whose score decides when training stops; None for a share of `train`.
        test: labelled data that is scored with the best weights.
        progress: whether to print a line for each epoch, and show bars on standard error.
        **settings: every option of the command: those of `Settings`, and those of the kind.

    Returns:
        A pipeline, see `elmo_keras.pipeline`: call it with texts; it has `evaluate` and
        `save`.

    Raises:
        TypeError, ValueError: the kind, a setting, or an example can't be used; the message
            names it. Nothing was written.
        OSError: a file can't be read.
        CommandFailed, FloatingPointError: training or writing failed.

    >>> head = train_head("ner", train="labelled.jsonl", output="my-ner")  # doctest: +SKIP
    >>> head("Bob left Paris.")[0]["label"]  # doctest: +SKIP
    'PER'
    """
    make = load(find_kind(kind).task)
    names = {field.name for field in dataclasses.fields(Settings)}
    options = {name: settings.pop(name) for name in [*settings] if name not in names}
    if unknown := sorted(options.keys() - {f.name for f in dataclasses.fields(make)}):
        raise TypeError(f"`{unknown[0]}` is not a setting of {kind}. Leave it out.")
    # A generator can be read once, but a head and its companions read the same data.
    train, dev, test = (
        [*part] if isinstance(part, Iterator) else part for part in (train, dev, test)
    )
    with contextlib.ExitStack() as stack:
        if output is None:
            temporary = tempfile.TemporaryDirectory(prefix=f"elmo-keras-{kind}-")
            output = Path(stack.enter_context(temporary)) / kind
        folder: Any = Path(output) if isinstance(output, str) else output
        run = Settings(train=train, output=folder, dev=dev, test=test, **settings)
        task = make(**options)
        is_frozen = run.model not in (None, NONE) and not run.fine_tune
        if task.companions() and not is_frozen:  # `RolePipeline` needs one
            raise ValueError(
                f"A pipeline of {kind} needs a frozen language model: a `model`, without "
                "`fine_tune`."
            )
        train_tasks(task, run, progress=progress)
        with seeded(run.seed):
            head = pipeline(folder)
        # A temporary folder is removed with the pipeline.
        weakref.finalize(head, stack.pop_all().close)
    return head


def train_tasks(
    task: Task, settings: Settings, *, progress: bool = False
) -> list[tuple[str, dict[str, Any]]]:
    """Trains a task and its companions; gives the folder and the results of each."""
    results = []
    for folder, task_of_folder in {"": task, **task.companions()}.items():
        run = dataclasses.replace(settings, output=settings.output / folder)
        if progress and folder:
            print(f"{folder}:")
        results.append((folder, train_task(task_of_folder, run, progress=progress)))
    return results
