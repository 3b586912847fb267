"""Shows and times the epochs of a task's training."""

import sys
import time

import keras

from elmo_keras.cli.status_line import StatusLine, duration


class EpochLine(keras.callbacks.Callback):
    """A line with the state of an epoch, and the time of its steps.

    The first step of all traces the graph, which may take longer than an epoch, so its
    time is counted apart.

    Args:
        shown: whether to print.
    """

    def __init__(self, shown: bool):
        super().__init__()
        self.line = StatusLine(sys.stdout, shown)
        self.traced = False

    def __enter__(self) -> "EpochLine":
        return self

    def __exit__(self, *_):
        self.line.clear()

    def start(self, epoch: int) -> None:
        """Begins an epoch, counted from 1; call it before `fit`."""
        self.epoch, self.steps, self.timed_steps = epoch, 0, 0
        self.began = self.timed_from = time.perf_counter()
        if not self.traced:
            self.line.show([self._name(), "tracing the first step …"])

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.traced:
            self.timed_steps += 1
        else:
            self.traced, self.timed_from = True, time.perf_counter()
        if self.line.due:
            self.line.show([self._name(), *self._state(logs or {})])

    def end_steps(self) -> float:
        """Returns the seconds of the epoch's steps.

        A first step that traced counts like the others, or with tracing if there is no
        other.
        """
        self.line.show_briefly(f"{self._name()} · scoring …")
        self.seconds = time.perf_counter() - self.began
        if self.timed_steps:
            timed = time.perf_counter() - self.timed_from
            self.seconds = timed * self.steps / self.timed_steps
        return self.seconds

    def finish(self, results: str) -> None:
        """Prints the line of a finished epoch."""
        line = f"{self._name()}  {results}  {self.seconds:.1f} s"
        if self.timed_from > self.began and self.timed_steps:
            first = self.timed_from - self.began
            line += f", besides {first:.1f} s for the first step, which is traced"
        self.line.print(line)

    def _name(self):
        return f"  epoch {self.epoch:3}"

    def _state(self, logs):
        parts = [f"loss {logs['loss']:.4f}"] if "loss" in logs else []
        n_steps = (self.params or {}).get("steps")
        if n_steps and self.timed_steps:
            a_step = (time.perf_counter() - self.timed_from) / self.timed_steps
            left = duration(a_step * (n_steps - self.steps))
            parts = [f"{self.steps / n_steps:4.0%}", *parts, f"{left} left"]
        return parts
