"""Training runs without the training program, and texts for them."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

import keras
import numpy as np
import pytest

from elmo_keras import Streams, TrainableLanguageModel, Vocabulary, train
from elmo_keras.commands import console
from elmo_keras.text.corpus import Corpus
from elmo_keras.training.checkpoint import checkpoints
from elmo_keras.training.distribution import make_strategy
from elmo_keras.training.inputs import Inputs, read_inputs
from elmo_keras.training.options import Limits, RunSettings, TextData
from elmo_keras.training.run import (
    CHECKPOINTS,
    make_model,
    make_run,
    make_streams,
)
from tests.support.sizes import OPTIONS_FILE

# Sentences of letters as words.
SENTENCES = [list("abca"), list("bd"), ["c"], list("aaabbb")]
CORPUS = Corpus.from_sentences(SENTENCES)
VOCABULARY = Vocabulary.count(SENTENCES, min_count=2)

TEXT = "the cat sat on the mat\nthe dog sat on a cat\na dog and a cat\n" * 8
SIZES = ["--preset", OPTIONS_FILE, "--batch-size", "4", "--unroll-steps", "6"]

# Runs the training program, which dies at a step: `python -c` with the arguments step,
# then those of the program.
DYING_PROGRAM = """
import os, signal, sys
from elmo_keras.commands.console import main
from elmo_keras.training.loop import TrainingRun

left, step = [int(sys.argv[1])], TrainingRun.step

def die(run, batch):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(run, batch)

TrainingRun.step = die
sys.exit(main(["train", *sys.argv[2:]]))
"""


class Losses(keras.callbacks.Callback):
    """The loss of each step; training ends after a number of steps."""

    def __init__(self, n_steps: int | None = None):
        super().__init__()
        self.n_steps, self.values = n_steps, []

    def on_train_batch_end(self, batch, logs=None):
        self.values += map(float, logs.values())
        if len(self.values) == self.n_steps:
            self.model.stop_training = True


def write_text(folder: Path) -> list[str]:
    """Writes `TEXT` and a held-out sentence; returns arguments that read them."""
    (folder / "text.txt").write_text(TEXT)
    (folder / "valid.txt").write_text("the dog sat on the mat\n")
    return ["--train", str(folder / "t*.txt"), "--valid", str(folder / "valid.txt")]


def parsed(arguments: Iterable[object]) -> tuple:
    """The parsed arguments of `elmo-keras train`: output, data, settings, limits."""
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "run_training", lambda *args, **_: calls.append(args))
        assert console.main(["train", *map(str, arguments)]) == 0
    return calls[0]


@dataclasses.dataclass
class PreparedRun:
    """The program before its first step."""

    data: TextData
    settings: RunSettings
    limits: Limits
    inputs: Inputs
    streams: Streams
    model: TrainableLanguageModel
    initial: list[np.ndarray]

    def attempt(
        self,
        folder: Path,
        *,
        n_steps: int | None = None,
        before_step: Callable[[], object] = lambda: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Trains in a model directory as a new process does; False if it was stopped.

        The steps are traced once. `n_steps` replaces the arguments' limit.
        """
        limits = dataclasses.replace(self.limits, steps=n_steps or self.limits.steps)
        # Values that a checkpoint must overwrite are wrong before it is read.
        resumes = bool(checkpoints(folder / CHECKPOINTS))
        for variable, value in zip(self.variables(), self.initial):
            variable.assign(np.full_like(value, 7) if resumes else value)
        before = keras.callbacks.Callback()
        before.on_train_batch_begin = lambda *_: before_step()
        run = make_run(
            self.model,
            self.streams,
            self.inputs,
            self.settings,
            limits,
            folder,
            stop=stop,
            callbacks=[before],
        )
        run.train()
        return not run.interrupted

    def variables(self) -> list[keras.Variable]:
        return [*self.model.bilm.trainable_weights, *self.model.optimizer.variables]


def prepared(arguments: Iterable[object]) -> PreparedRun:
    output, data, settings, limits = parsed(arguments)
    strategy = make_strategy(settings.replicas)
    inputs = read_inputs(data, settings, cache=output / "training/corpus-0")
    streams = make_streams(inputs, settings, strategy)
    n_steps = limits.total_steps(streams.n_steps(0))
    model = make_model(inputs, settings, strategy=strategy, n_steps=n_steps)
    run = PreparedRun(data, settings, limits, inputs, streams, model, [])
    run.initial = [np.copy(variable) for variable in run.variables()]
    return run
