"""The monitor of training: the line that shows it, and TensorBoard's logs."""

import contextlib
import functools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.cli.status_line import StatusLine, duration
from elmo_keras.training.distribution import is_chief
from elmo_keras.training.options import Limits
from elmo_keras.training.pace import Pace
from elmo_keras.training.run import TrainingRun

LOGS = "training/logs"
DIVERGED = (
    "The loss is no longer finite. Start again with a lower --learning-rate and "
    "another --output."
)
READ_EVERY = 10  # steps between reads of the losses; each read makes the host wait
READ_AFTER = 1.0  # seconds after which the next step is read, however few there are


class Monitor:
    """Collects the results of the steps, records them in the progress and shows them.

    Args:
        run: its progress is updated when results are read.
        folder: the model directory, for TensorBoard's logs.
        limits: give the time left.
    """

    def __init__(self, run: TrainingRun, folder: Path, limits: Limits):
        self.run, self.limits = run, limits
        self.chief = is_chief(run.strategy)
        self.line = StatusLine(sys.stdout, shown=self.chief)
        self.pace = Pace()
        self.waiting: list[tuple[tf.Tensor, tf.Tensor]] = []
        # First steps of graphs: among those that wait, and without a time so far.
        self.traced = self.untimed = 0
        self.logs = folder / LOGS
        self._start_timing()

    @functools.cached_property
    def scalars(self) -> tf.summary.SummaryWriter | None:
        """The writer of TensorBoard's logs, on the chief only."""
        return tf.summary.create_file_writer(str(self.logs)) if self.chief else None

    def __enter__(self) -> "Monitor":
        return self

    def __exit__(self, *_):
        self.line.clear()

    def say(self, text: str) -> None:
        """Prints on the chief."""
        self.line.print(text)

    def warn(self, text: str) -> None:
        """Prints one line on standard error, every time."""
        self.line.clear()
        print(f"Warning: {' '.join(text.split())}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def other_work(self, text: str) -> Iterator[None]:
        """Surrounds what is not a step: its time is left out of the steps' time."""
        self.read()
        self.line.show_briefly(f"{text} …")
        yield
        self._start_timing()

    def start_epoch(self) -> None:
        """Announces the epoch."""
        progress, limits = self.run.progress, self.limits
        place = f", from step {progress.epoch_step}" if progress.epoch_step else ""
        of = f"/{limits.n_epochs}" if limits.n_epochs else ""
        self.say(f"Epoch {progress.epoch + 1}{of}{place}")
        self._start_timing()

    def end_epoch(self) -> None:
        """Leaves the state at the end of the epoch on the line."""
        self.read()
        self.line.show(self._state())
        self.line.end()

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

    @contextlib.contextmanager
    def tracing(self) -> Iterator[None]:
        """Surrounds the first step of a graph, whose time would distort the means."""
        self.read()
        self.line.show(["Tracing the training step …"])
        start = time.perf_counter()
        yield
        self.say(f"Traced the training step in {time.perf_counter() - start:.1f} s")
        self.pace.start(self.run.progress.step)
        self.traced += 1
        self._start_timing()

    def add(self, loss: tf.Tensor, n_predictions: tf.Tensor) -> None:
        """Adds the results of a step."""
        self.waiting.append((loss, n_predictions))
        seconds = time.perf_counter() - self.read_at
        if len(self.waiting) >= READ_EVERY or seconds > READ_AFTER:
            self.read()

    def read(self) -> None:
        """Waits for the results of all steps so far, records and shows them."""
        results = [(float(loss), int(n)) for loss, n in self.waiting]
        self.waiting.clear()
        if not np.isfinite([loss for loss, _ in results]).all():
            raise FloatingPointError(DIVERGED)
        self._time([n for _, n in results])
        progress = self.run.progress
        for step, result in enumerate(results, progress.step - len(results) + 1):
            if progress.add_step(*result):
                loss = {self.run.loss_name: progress.losses[-1][1]}
                self.write(loss | self.pace.scalars(), step)
        if results and self.line.due:
            self.line.show(self._state())

    def _time(self, tokens):
        """Adds the time since the last read."""
        timed = tokens[self.traced :]
        self.untimed += self.traced
        self.traced = 0
        if not timed:
            return
        seconds = time.perf_counter() - self.read_at
        self.pace.add(len(timed), sum(timed), seconds=seconds, waited=self.waited)
        # The steps that were not timed are taken to be like these ones.
        self.run.progress.seconds += seconds * (1 + self.untimed / len(timed))
        self.untimed = 0
        self._start_timing()

    def _start_timing(self):
        self.read_at, self.waited = time.perf_counter(), 0.0

    def _state(self):
        """The parts of the line."""
        progress, pace = self.run.progress, self.pace
        n_steps = self.run.streams.n_steps(progress.epoch)
        parts = [f"{progress.epoch_step / n_steps:4.0%}"]
        loss, left = progress.recent_loss(), self._seconds_left(n_steps)
        if loss is not None:
            parts.append(f"{self.run.loss_name} {loss:.3f} nats")
        if pace.is_known:
            parts.append(f"{pace.tokens_per_second:,.0f} tokens/s")
        if left is not None:
            most = "" if self.limits.patience is None else "at most "
            parts.append(f"{most}{duration(left)} left")
        if pace.is_known:
            parts.append(f"{pace.waiting:.1%} waiting for data")
        return [*parts, f"step {progress.step:,}"]

    def _seconds_left(self, steps_an_epoch):
        """The time until the limits of steps and epochs, if there is one."""
        progress, limits = self.run.progress, self.limits
        ends = [limits.n_steps]
        if limits.n_epochs is not None:
            rest = (limits.n_epochs - progress.epoch) * steps_an_epoch
            ends.append(progress.step - progress.epoch_step + rest)
        ends = [end for end in ends if end is not None]
        return self.pace.seconds_left(progress.step, min(ends)) if ends else None

    def write(self, scalars: dict[str, float], step: int) -> None:
        """Writes scalars for TensorBoard, until writing fails."""
        if self.scalars is None:
            return
        # Like `tf.summary.scalar`, which needs TensorBoard to be installed.
        kind = tf.compat.v1.SummaryMetadata()
        kind.plugin_data.plugin_name = "scalars"
        try:
            with self.scalars.as_default(step=step):
                for name, value in scalars.items():
                    tf.summary.write(name, tf.constant(value, "float32"), metadata=kind)
        except tf.errors.OpError as error:
            self.scalars = None
            self.warn(f"No more logs for TensorBoard: {error.message}")
