"""The loop of training: batch, step, evaluate, save; and what is shown of it."""

import contextlib
import functools
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.perplexity import HeldOutPerplexity, log_probability_sums
from elmo_keras.progress import Progress as ProgressBar
from elmo_keras.training.distribution import (
    is_chief,
    n_workers,
    sum_over_workers,
    worker,
)
from elmo_keras.training.options import Limits
from elmo_keras.training.output import write_model
from elmo_keras.training.run import TrainingRun, save
from elmo_keras.training.step import compiled_step

LOGS = "training/logs"
DIVERGED = (
    "The loss is no longer finite. Start again with a lower --learning-rate and "
    "another --output."
)
READ_EVERY = 10  # steps between reads of the losses; each read makes the host wait
READ_AFTER = 1.0  # seconds after which the next step is read, however few there are


def fit(
    run: TrainingRun,
    limits: Limits,
    output: Path,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Trains until a limit is reached, and writes the model with the best weights.

    Training continues from the run's `progress` and `state`. Returns False if `stop`,
    called after every step, ended it; then too the last step has a checkpoint. An
    exception leaves the checkpoints from before it.
    """
    progress = run.progress
    with Monitor(run, limits, output) as monitor:
        if not progress.held_out:
            monitor.bar.say("Evaluating before training")
            progress.add_validation(held_out_perplexity(run))
            _save(monitor, output)  # from here on the same command resumes
        _check_finite(progress.held_out)
        before = progress.evaluations()[0]
        monitor.bar.say(f"Held-out perplexity before training: {before}")
        while not limits.reached(progress):
            monitor.start_epoch()
            batches = run.batches()
            for batch in batches:
                _step(monitor, batch, batches.element_spec)
                if limits.evaluate_every and not progress.step % limits.evaluate_every:
                    _evaluate(monitor, output)
                if not progress.step % limits.checkpoint_every:
                    _save(monitor, output)
                if limits.reached(progress):
                    break
                if _agree_to_stop(run, stop):
                    _save(monitor, output)
                    return False
            else:
                monitor.read()
                progress.epoch, progress.epoch_step = progress.epoch + 1, 0
                run.reset_state()
            _evaluate(monitor, output)
            _save(monitor, output)
        if _evaluate(monitor, output):  # the limit was reached by an earlier process
            _save(monitor, output)
    return True


def _step(monitor, batch, spec):
    """Updates the weights with a batch; the first step of a graph traces it."""
    run = monitor.run
    only_softmax = run.progress.step < run.warm_up_steps
    if only_softmax in run.steps:
        *results, run.state = run.steps[only_softmax](batch, run.state)
    else:
        with monitor.tracing():
            run.steps[only_softmax] = compiled_step(run, spec, only_softmax)
            *results, run.state = run.steps[only_softmax](batch, run.state)
            monitor.values(results)  # waits for the step
    monitor.add_step(results)


def _agree_to_stop(run, stop):
    """Whether to stop: if one worker is to stop, all stop at the same step."""
    if n_workers(run.strategy) == 1:
        return stop()
    if run.progress.step % READ_EVERY:
        return False
    return bool(sum_over_workers(run.strategy, np.array(float(stop()))) > 0)


def _save(monitor, output):
    with monitor.other_work("Writing a checkpoint"):
        save(monitor.run, output)


def _evaluate(monitor, output) -> bool:
    """Evaluates, and writes the best model; False if this step was evaluated already."""
    run, progress = monitor.run, monitor.run.progress
    with monitor.other_work("Evaluating the held-out text"):
        if progress.held_out[-1][0] == progress.tokens:
            return False
        result = held_out_perplexity(run)
        _check_finite(result)
        mean = progress.add_validation(result)
        monitor.bar.say(
            f"Step {progress.step:,}: {run.loss_name} {progress.recent_loss():.3f} nats\n"
            f"Held-out perplexity: {result}"
        )
        scalars = {
            "held-out perplexity": result.zero.mean,
            "held-out perplexity, state carried over": result.carried.mean,
        }
        monitor.write(scalars, progress.step)
        if mean >= (math.inf if progress.best is None else progress.best):
            progress.not_better += 1
        else:
            write_model(run, monitor.limits, output)
            progress.best, progress.not_better = mean, 0
    return True


def _check_finite(evaluations):
    if not np.isfinite(evaluations).all():
        raise FloatingPointError(DIVERGED)


def held_out_perplexity(run: TrainingRun) -> HeldOutPerplexity:
    """The perplexity of the held-out text; workers share its sentences."""
    text, strategy = run.inputs.valid, run.strategy
    sums = log_probability_sums(
        run.bilm,
        text,
        run.inputs.vocabulary,
        worker=worker(strategy),
        n_workers=n_workers(strategy),
    )
    return HeldOutPerplexity.from_sums(
        sum_over_workers(strategy, sums), text.n_predictions
    )


class Monitor(contextlib.AbstractContextManager):
    def __init__(self, run: TrainingRun, limits: Limits, folder: Path):
        self.run, self.limits = run, limits
        self.unread: list[Any] = []  # losses and predictions of steps
        self.untimed = 0  # first steps of graphs among them
        self.since = time.perf_counter()  # the last read
        self.row = np.zeros(2)  # tokens and seconds of an open row of `losses`
        self.logs = folder / LOGS if is_chief(run.strategy) else None
        self.bar = ProgressBar(file=sys.stdout, disable=self.logs is None)
        self.bar.skip(run.progress.tokens)

    def __exit__(self, *_):
        self.bar.close()

    def start_epoch(self) -> None:
        progress, limits = self.run.progress, self.limits
        total = f"/{limits.epochs}" if limits.epochs else ""
        start = f", from step {progress.epoch_step}" if progress.epoch_step else ""
        self.bar.say(f"Epoch {progress.epoch + 1}{total}{start}")

    @contextlib.contextmanager
    def other_work(self, text: str) -> Iterator[None]:
        """Surrounds what is no step: its time is left out of the steps' time."""
        self.read()
        if sys.stdout.isatty():
            self.bar.set_postfix_str(text)
        with self.bar.paused():
            yield
        self.since = time.perf_counter()

    @contextlib.contextmanager
    def tracing(self) -> Iterator[None]:
        """Surrounds the first step of a graph, which counts like the ones after it."""
        self.bar.say("Tracing the training step")
        with self.other_work("Tracing the training step"):
            yield
        self.untimed += 1

    def add_step(self, results: Sequence[tf.Tensor]) -> None:
        """Counts a step; its results are read later."""
        self.run.progress.step += 1
        self.run.progress.epoch_step += 1
        self.unread.append(results)
        self.read(at_least=READ_EVERY)

    def values(self, results: Sequence[tf.Tensor]) -> tuple[float, int]:
        """Loss and number of predictions of a step, once it is done."""
        local = map(self.run.strategy.experimental_local_results, results)
        loss, n_predictions = (replicas[0] for replicas in local)
        return float(loss), int(n_predictions)

    def read(self, at_least: int = 1) -> None:
        """Waits for the results of the steps, if there are enough or a second is over."""
        now = time.perf_counter()
        enough = len(self.unread) >= at_least or now - self.since >= READ_AFTER
        if not self.unread or not enough:
            return
        progress, results = self.run.progress, list(map(self.values, self.unread))
        if not np.isfinite([loss for loss, _ in results]).all():
            raise FloatingPointError(DIVERGED)
        now = time.perf_counter()
        n_tokens = sum(n for _, n in results)
        seconds = now - self.since
        seconds *= len(results) / max(len(results) - self.untimed, 1)
        progress.seconds += seconds
        self.row += n_tokens, seconds
        self.unread, self.untimed, self.since = [], 0, now
        for step, result in enumerate(results, progress.step - len(results) + 1):
            if progress.add_step(*result):
                speed = self.row[0] / max(self.row[1], 1e-9)
                loss = progress.losses[-1][1]
                self.write({self.run.loss_name: loss, "tokens/s": speed}, step)
                self.row[:] = 0
        steps_an_epoch = self.run.streams.n_steps(progress.epoch)
        self.bar.set_postfix_str(
            f"{self.run.loss_name} {progress.recent_loss():.3f} nats, "
            f"step {progress.step:,}",
            refresh=False,
        )
        n_steps = self.limits.total_steps(steps_an_epoch, progress)
        self.bar.add(n_tokens, progress.step / n_steps)

    @functools.cached_property
    def _writer(self):
        return tf.summary.create_file_writer(str(self.logs))

    def write(self, scalars: dict[str, float], step: int) -> None:
        """Writes scalars for TensorBoard, on the chief and until writing fails."""
        if self.logs is None:
            return
        # Like `tf.summary.scalar`, which needs TensorBoard to be installed.
        metadata = tf.compat.v1.SummaryMetadata()
        metadata.plugin_data.plugin_name = "scalars"
        try:
            with self._writer.as_default(step=step):
                for name, value in scalars.items():
                    tf.summary.write(
                        name, tf.constant(value, "float32"), metadata=metadata
                    )
        except tf.errors.OpError as error:
            self.logs = None
            self.bar.say(f"No more logs for TensorBoard: {error.message}")
