"""The monitor of training: progress bar, and TensorBoard's logs."""

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.training.distribution import is_chief
from elmo_keras.training.options import Limits
from elmo_keras.training.run import TrainingRun

LOGS = "training/logs"
DIVERGED = (
    "The loss is no longer finite. Start again with a lower --learning-rate and "
    "another --output."
)
READ_EVERY = 10  # steps between reads of the losses; each read makes the host wait


class Monitor:
    """Collects the losses of the steps, and shows them every `READ_EVERY` steps.

    Args:
        run: its progress is updated when losses are read.
        folder: the model directory, for TensorBoard's logs.
        limits: give the lengths of the progress bars.
    """

    def __init__(self, run: TrainingRun, folder: Path, limits: Limits):
        self.run, self.limits = run, limits
        self.chief = is_chief(run.strategy)
        self.waiting: list[tuple[tf.Tensor, tf.Tensor]] = []
        self.read_at = time.perf_counter()
        self.waited = 0.0
        self.scalars = None
        if self.chief:
            self.scalars = tf.summary.create_file_writer(str(folder / LOGS))

    def say(self, text: str) -> None:
        """Prints on the chief."""
        if self.chief:
            print(text, flush=True)

    def start_epoch(self) -> None:
        """Starts a progress bar for the rest of the epoch."""
        progress, limits = self.run.progress, self.limits
        left = self.run.streams.n_steps(progress.epoch) - progress.epoch_step
        if limits.n_steps is not None:
            left = min(left, limits.n_steps - progress.step)
        place = f", from step {progress.epoch_step}" if progress.epoch_step else ""
        of = f"/{limits.n_epochs}" if limits.n_epochs else ""
        self.say(f"Epoch {progress.epoch + 1}{of}{place}")
        self.bar = keras.utils.Progbar(
            left,
            verbose=int(self.chief and left > 0),
            interval=0.05 if sys.stdout.isatty() else 30,
            stateful_metrics=[self.run.loss_name, "tokens/s", "waiting for data"],
        )
        self.read_at, self.waited = time.perf_counter(), 0.0

    def timed(self, elements: Iterator[Any]) -> Iterator[Any]:
        """Yields the elements, and measures the time spent waiting for them."""
        while True:
            start = time.perf_counter()
            try:
                element = next(elements)
            except (StopIteration, tf.errors.OutOfRangeError):
                return
            self.waited += time.perf_counter() - start
            yield element

    def add(self, loss: tf.Tensor, n_predictions: tf.Tensor) -> None:
        """Adds the results of a step."""
        self.waiting.append((loss, n_predictions))
        if len(self.waiting) >= READ_EVERY:
            self.read()

    def read(self) -> None:
        """Waits for the results of all steps so far, and shows them."""
        if not self.waiting:
            return
        losses, tokens = np.array([[float(x) for x in r] for r in self.waiting]).T
        n_steps, n = len(self.waiting), int(tokens.sum())
        self.waiting.clear()
        if not np.isfinite(losses).all():
            raise FloatingPointError(DIVERGED)
        seconds = time.perf_counter() - self.read_at
        loss = float(losses @ tokens / n)
        progress = self.run.progress
        progress.tokens += n
        progress.seconds += seconds
        progress.losses.append((progress.tokens, loss))
        shown = {
            self.run.loss_name: loss,
            "tokens/s": round(n / seconds),
            "waiting for data": self.waited / seconds,
        }
        self.bar.add(n_steps, list(shown.items()))
        self.write(shown)
        self.read_at, self.waited = time.perf_counter(), 0.0

    def write(self, scalars: dict[str, float]) -> None:
        """Writes scalars for TensorBoard, until writing fails."""
        if self.scalars is None:
            return
        # Like `tf.summary.scalar`, which needs TensorBoard to be installed.
        kind = tf.compat.v1.SummaryMetadata()
        kind.plugin_data.plugin_name = "scalars"
        try:
            with self.scalars.as_default(step=self.run.progress.step):
                for name, value in scalars.items():
                    tf.summary.write(name, tf.constant(value, "float32"), metadata=kind)
        except tf.errors.OpError as error:
            self.scalars = None
            warnings.warn(
                f"No more logs for TensorBoard: {error.message}", stacklevel=2
            )
