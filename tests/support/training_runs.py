"""Training runs without the training program, and texts for them."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from elmo_keras import Vocabulary, train
from elmo_keras.text.corpus import Corpus
from elmo_keras.training.checkpoint import checkpoints
from elmo_keras.training.distribution import make_strategy
from elmo_keras.training.inputs import read_inputs
from elmo_keras.training.options import Limits, RunSettings, TextData
from elmo_keras.training.progress import Progress
from elmo_keras.training.run import (
    CHECKPOINTS,
    TrainingRun,
    make_run,
    make_streams,
    restore,
)
from elmo_keras.training.step import compiled_step
from elmo_keras.util import console

# Sentences of letters as words.
SENTENCES = [list("abca"), list("bd"), ["c"], list("aaabbb")]
CORPUS = Corpus.from_sentences(SENTENCES)
VOCABULARY = Vocabulary.count(SENTENCES, min_count=2)

TEXT = "the cat sat on the mat\nthe dog sat on a cat\na dog and a cat\n" * 8
SIZES = ["--preset", "test", "--batch-size", "4", "--unroll-steps", "6"]

# Runs the training program, which dies at a step: `python -c` with the arguments step,
# then those of the program.
DYING_PROGRAM = """
import os, signal, sys
from elmo_keras.training import loop
from elmo_keras.util.console import main

compiled_step, left = loop.compiled_step, [int(sys.argv[1])]

def mortal(*args, **kwargs):
    step = compiled_step(*args, **kwargs)

    def one_step(*batch):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*batch)

    return one_step

loop.compiled_step = mortal
sys.exit(main(["train", *sys.argv[2:]]))
"""


def write_text(folder: Path) -> list[str]:
    """Writes `TEXT` and a held-out sentence; returns arguments that read them."""
    (folder / "text.txt").write_text(TEXT)
    (folder / "valid.txt").write_text("the dog sat on the mat\n")
    return ["--train", str(folder / "t*.txt"), "--valid", str(folder / "valid.txt")]


def parsed(arguments: Iterable[object]) -> tuple:
    """What `elmo-keras train` makes of its arguments: output, data, settings, limits."""
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "run_training", lambda *args, **_: calls.append(args))
        assert console.main(["train", *map(str, arguments)]) == 0
    return calls[0]


class Prepared(NamedTuple):
    """A run before its first step, and what it was made from."""

    output: Path
    data: TextData
    settings: RunSettings
    limits: Limits
    run: TrainingRun


def prepared(arguments) -> Prepared:
    output, data, settings, limits = parsed(arguments)
    strategy = make_strategy(settings.replicas)
    inputs = read_inputs(data, settings, cache=output / "training/corpus-0")
    streams = make_streams(inputs, settings, strategy)
    n_steps = limits.total_steps(streams.n_steps(0))
    run = make_run(inputs, streams, settings, strategy=strategy, n_steps=n_steps)
    return Prepared(output, data, settings, limits, run)


class ReusedRun:
    """A run that is trained again and again, with steps that are traced once."""

    def __init__(self, arguments):
        _, self.data, self.settings, self.limits, self.run = prepared(arguments)
        self._chosen_by = self.run.progress.chosen_by
        variables = self.run.variables().values()
        self._initial = [np.copy(variable) for variable in variables]
        self.run.reset_state()
        spec = self.run.batches().element_spec
        self.steps = {alone: compiled_step(self.run, spec, alone) for alone in (0, 1)}

    def attempt(
        self,
        folder: Path,
        *,
        n_steps: int | None = None,
        before_step: Callable[[], object] = lambda: None,
    ) -> bool:
        """Trains in a model directory as the program does; False if it was stopped.

        `n_steps` replaces the arguments' limit.
        """
        self._forget(folder)
        self.run.steps = {
            alone: lambda *batch, step=step: (before_step(), step(*batch))[1]
            for alone, step in self.steps.items()
        }
        n_steps = n_steps or self.limits.steps
        limits = dataclasses.replace(self.limits, steps=n_steps)
        return train.fit_and_report(self.run, limits, folder, self.data, uses=[]) == 0

    def begin(self, folder: Path) -> TrainingRun:
        """The run as it is in a new process, resumed from a checkpoint if there is one."""
        self._forget(folder)
        restore(self.run, folder)
        self.run.steps = dict(self.steps)
        return self.run

    def _forget(self, folder):
        self.run.progress = Progress(chosen_by=self._chosen_by)
        for variable, value in zip(self.run.variables().values(), self._initial):
            variable.assign(value)
        if checkpoints(folder / CHECKPOINTS):  # which must overwrite all of them
            for variable in self.run.variables().values():
                variable.assign(np.full_like(variable, 7))
