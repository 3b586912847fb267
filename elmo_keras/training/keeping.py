"""What training keeps: checkpoints and the best model, also when the disk is full.

A file that can't be written ends training only at its end: there may be room the next
time.
"""

import contextlib
import math
from collections.abc import Callable
from pathlib import Path

from elmo_keras.cli.command import CommandFailed
from elmo_keras.training.checkpoint import checkpoints
from elmo_keras.training.monitor import Monitor
from elmo_keras.training.run import CHECKPOINTS, save


def save_if_possible(monitor: Monitor, folder: Path) -> None:
    """Writes a checkpoint, or warns."""
    try:
        _save(monitor, folder)
    except OSError as error:
        monitor.warn(
            f"The checkpoint of step {monitor.run.progress.step:,} was not written "
            f"(older ones are kept): {_cause(error)}"
        )


def save_at_the_end(monitor: Monitor, folder: Path) -> None:
    """Writes the last checkpoint.

    Raises:
        CommandFailed: it can't be written; the message says what is lost.
    """
    step = monitor.run.progress.step
    try:
        _save(monitor, folder)
    except OSError as error:
        raise CommandFailed(
            f"The checkpoint of step {step:,} was not written: {_cause(error)}. "
            f"{_left(monitor, folder)}. Make room, and give the same command "
            "again: it resumes from there."
        ) from error


def keep_if_better(monitor: Monitor, mean: float, keep: Callable[[], None]) -> None:
    """Writes the model if its perplexity is lower than that of the written one.

    Args:
        monitor: gives the progress, and warns if the model can't be written.
        mean: the held-out perplexity of the weights.
        keep: writes the model.
    """
    progress = monitor.run.progress
    best = math.inf if progress.best is None else progress.best
    unwritten = progress.unwritten[1] if progress.unwritten else math.inf
    progress.not_better = 0 if mean < min(best, unwritten) else progress.not_better + 1
    if mean >= best:
        return
    try:
        keep()
    except OSError as error:
        if mean < unwritten:
            progress.unwritten = progress.step, mean
        monitor.warn(
            f"The model of step {progress.step:,} was not written (the older one is "
            f"kept): {_cause(error)}"
        )
    else:
        progress.best = mean
        if mean <= unwritten:
            progress.unwritten = None


def finish(
    monitor: Monitor, folder: Path, keep: Callable[[], None], *, changed: bool
) -> None:
    """Writes the last checkpoint, and the last model if it is the best one.

    Args:
        monitor: gives the run.
        folder: the model directory.
        keep: writes the model.
        changed: whether there is a change since the run was restored.

    Raises:
        CommandFailed: the checkpoint or the best model is not written.
    """
    progress = monitor.run.progress
    if progress.unwritten and progress.unwritten[0] == progress.step:
        with contextlib.suppress(OSError):
            keep()
            progress.best, progress.unwritten = progress.unwritten[1], None
            changed = True
    if changed:
        save_at_the_end(monitor, folder)
    if progress.unwritten:
        step, mean = progress.unwritten
        again = "its weights are lost, unless training continues to better ones"
        if step == progress.step:
            again = "make room, and give the same command again, which writes it"
        raise CommandFailed(
            f"The best model, of step {step:,} with a held-out perplexity of "
            f"{mean:.1f}, was not written: {again}. {_left(monitor, folder)}."
        )


def _save(monitor, folder):
    with monitor.other_work("Writing a checkpoint"):
        save(monitor.run, folder)


def _cause(error):
    """The error without the name of a temporary file."""
    return error.strerror or str(error)


def _left(monitor, folder):
    """The last checkpoint and the last model on the disk."""
    newest = next(iter(checkpoints(folder / CHECKPOINTS)), "no checkpoint")
    best = monitor.run.progress.best
    model = (
        "no model" if best is None else f"a model with held-out perplexity {best:.1f}"
    )
    return f"What is left: {newest} and {model}"
