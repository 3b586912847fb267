"""The loop of training: steps, evaluations, checkpoints, and what people see."""

import contextlib
import dataclasses
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.distribution import is_chief, n_workers, sum_over_workers
from elmo_keras.perplexity import Perplexity
from elmo_keras.training_run import (
    Progress,
    TrainingRun,
    batches,
    compiled_step,
    save,
)

LOGS = "training/logs"
DIVERGED = (
    "The loss is not finite any more. Begin again with a lower --learning-rate and "
    "another --output."
)
READ_EVERY = 10  # steps between two looks at the losses, for which the host waits


@dataclasses.dataclass(frozen=True)
class Limits:
    """When training ends, and how often what is done in it.

    Args:
        n_epochs: epochs to train, or None for as many as the steps take.
        n_steps: most steps, or None.
        patience: evaluations in a row without a lower perplexity that end
            training, or None.
        checkpoint_every: steps between two checkpoints.
        evaluate_every: steps between two evaluations besides those at the end of
            an epoch, or None.
    """

    n_epochs: int | None
    n_steps: int | None = None
    patience: int | None = None
    checkpoint_every: int = 500
    evaluate_every: int | None = None

    def reached(self, progress: Progress) -> bool:
        """Whether there is nothing more to do."""
        return (
            (self.n_epochs is not None and progress.epoch >= self.n_epochs)
            or (self.n_steps is not None and progress.step >= self.n_steps)
            or (self.patience is not None and progress.not_better >= self.patience)
        )


def fit(
    run: TrainingRun,
    folder: Path,
    limits: Limits,
    evaluate: Callable[[], Perplexity],
    keep: Callable[[], None],
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Trains until a limit is reached.

    Args:
        run: built, its `state` set; goes on from its `progress`.
        folder: the model directory, for checkpoints and TensorBoard's logs.
        limits: see there.
        evaluate: gives the held-out perplexity.
        keep: called whenever that is the lowest so far.
        stop: asked after every step; True ends training.

    Returns:
        Whether a limit was reached; False if `stop` ended it. The last checkpoint
        is of the last step in either case.

    Raises:
        FloatingPointError: the loss is not finite any more; the checkpoints are
            from before.
    """
    progress, monitor = run.progress, Monitor(run, folder, limits)
    spec = batches(run).element_spec
    step = {warm: compiled_step(run, spec, warm) for warm in (False, True)}
    while not limits.reached(progress):
        monitor.start_epoch()
        for batch in monitor.timed(iter(batches(run))):
            warm = progress.step < run.warm_up_steps
            loss, n, run.state = step[warm](batch, run.state)
            progress.step += 1
            progress.epoch_step += 1
            monitor.add(loss, n)
            if limits.evaluate_every and progress.step % limits.evaluate_every == 0:
                _evaluate(monitor, evaluate, keep)
            if progress.step % limits.checkpoint_every == 0:
                monitor.read()
                _save_if_possible(run, folder)
            if limits.reached(progress):
                break
            if _agreed(run, stop):
                monitor.read()
                save(run, folder)
                return False
        else:
            progress.epoch, progress.epoch_step = progress.epoch + 1, 0
            run.reset_state()
        _evaluate(monitor, evaluate, keep)
        if not limits.reached(progress):
            _save_if_possible(run, folder)
    _evaluate(monitor, evaluate, keep)
    save(run, folder)
    return True


def _agreed(run, stop):
    """Whether to stop: what one worker is told, all do at the same step."""
    if n_workers(run.strategy) == 1:
        return stop()
    if run.progress.step % READ_EVERY:
        return False
    return bool(sum_over_workers(run.strategy, np.array(float(stop()))) > 0)


def _save_if_possible(run, folder):
    with _warning_instead("The checkpoint was not written, those before are kept"):
        save(run, folder)


@contextlib.contextmanager
def _warning_instead(what):
    """Turns what a disk can do into a warning: there may be room the next time."""
    try:
        yield
    except OSError as error:
        warnings.warn(f"{what}: {error}. Training goes on.", stacklevel=3)


def _evaluate(monitor, evaluate, keep):
    """Evaluates, unless that was done at this very step."""
    monitor.read()
    progress = monitor.run.progress
    if progress.held_out and progress.held_out[-1][0] == progress.tokens:
        return
    result = evaluate()
    if np.isnan(result.mean):
        raise FloatingPointError(DIVERGED)
    progress.held_out.append((progress.tokens, result.forward, result.backward))
    monitor.say(f"\nHeld-out perplexity: {result}")
    monitor.write({"held-out perplexity": result.mean})
    progress.not_better += 1
    if progress.best is None or result.mean < progress.best:
        with _warning_instead("The model was not written, the one before is kept"):
            keep()
            progress.best, progress.not_better = result.mean, 0


class Monitor:
    """Reads the losses from time to time and shows them."""

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
        """Prints, on one worker."""
        if self.chief:
            print(text, flush=True)

    def start_epoch(self) -> None:
        """Begins the progress bar of the rest of the epoch."""
        progress, limits = self.run.progress, self.limits
        left = self.run.streams.n_steps(progress.epoch) - progress.epoch_step
        if limits.n_steps is not None:
            left = min(left, limits.n_steps - progress.step)
        goes_on = f", from step {progress.epoch_step}" if progress.epoch_step else ""
        of = f"/{limits.n_epochs}" if limits.n_epochs else ""
        self.say(f"Epoch {progress.epoch + 1}{of}{goes_on}")
        self.bar = keras.utils.Progbar(
            left,
            verbose=int(self.chief and left > 0),
            interval=0.05 if sys.stdout.isatty() else 30,
            stateful_metrics=[self.run.loss_name, "tokens/s", "waiting for data"],
        )
        self.read_at, self.waited = time.perf_counter(), 0.0

    def timed(self, elements: Iterator[Any]) -> Iterator[Any]:
        """The elements; the time that getting them took is counted."""
        while True:
            start = time.perf_counter()
            try:
                element = next(elements)
            except (StopIteration, tf.errors.OutOfRangeError):
                return
            self.waited += time.perf_counter() - start
            yield element

    def add(self, loss: tf.Tensor, n_predictions: tf.Tensor) -> None:
        """Takes up the results of a step."""
        self.waiting.append((loss, n_predictions))
        if len(self.waiting) >= READ_EVERY:
            self.read()

    def read(self) -> None:
        """Waits for the results of the steps so far, and shows them."""
        if not self.waiting:
            return
        losses, tokens = np.array([[float(x) for x in r] for r in self.waiting]).T
        n_steps, n = len(self.waiting), int(tokens.sum())
        self.waiting.clear()
        if not np.isfinite(losses).all():
            raise FloatingPointError(DIVERGED)
        seconds = time.perf_counter() - self.read_at
        self._take(n, float(losses @ tokens / n), seconds, n_steps)
        self.read_at, self.waited = time.perf_counter(), 0.0

    def _take(self, n, loss, seconds, n_steps):
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

    def write(self, scalars: dict[str, float]) -> None:
        """Writes scalars for TensorBoard, as long as that is possible."""
        if self.scalars is None:
            return
        # What `tf.summary.scalar` does, which needs TensorBoard to be installed.
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
