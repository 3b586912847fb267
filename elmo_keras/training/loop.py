"""The loop of training: steps, evaluations, checkpoints, and what is shown of them."""

import contextlib
import functools
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.cli.progress import Progress as ProgressBar
from elmo_keras.training.distribution import (
    is_chief,
    n_workers,
    sum_over_workers,
    worker,
)
from elmo_keras.training.inputs import Inputs
from elmo_keras.training.options import Limits
from elmo_keras.training.output import write_model
from elmo_keras.training.perplexity import HeldOutPerplexity, held_out_sums
from elmo_keras.training.run import TrainingRun, batches, compiled_step, save

LOGS = "training/logs"
DIVERGED = (
    "The loss is no longer finite. Start again with a lower --learning-rate and "
    "another --output."
)
READ_EVERY = 10  # steps between reads of the losses; each read makes the host wait
READ_AFTER = 1.0  # seconds after which the next step is read, however few there are


def fit(
    run: TrainingRun,
    inputs: Inputs,
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
    progress, steps = run.progress, {}
    with Monitor(run, output, limits) as monitor:
        if not progress.held_out:
            monitor.bar.say("Evaluating before training")
            progress.add_held_out(held_out_perplexity(run, inputs))
            _save(monitor, output)  # from here on the same command resumes
        before = progress.evaluations()[0]
        monitor.bar.say(f"Held-out perplexity before training: {before}")
        begun = progress.step, len(progress.held_out)
        while not limits.reached(progress):
            monitor.start_epoch()
            dataset = batches(run)
            for batch in monitor.timed(iter(dataset)):
                warm = progress.step < run.warm_up_steps
                if warm in steps:
                    results = steps[warm](batch, run.state)
                else:
                    steps[warm] = compiled_step(run, dataset.element_spec, warm)
                    with monitor.tracing():
                        results = steps[warm](batch, run.state)
                        float(results[0])  # waits for the step
                *numbers, run.state = results
                progress.step += 1
                progress.epoch_step += 1
                monitor.add(*numbers)
                if limits.evaluation_due(progress):
                    _evaluate(monitor, inputs, output)
                if limits.checkpoint_due(progress):
                    _save(monitor, output)
                if limits.reached(progress):
                    break
                if _agreed(run, stop):
                    _save(monitor, output)
                    return False
            else:
                run.start_next_epoch()
            _evaluate(monitor, inputs, output)
            if not limits.reached(progress):
                _save(monitor, output)
        _evaluate(monitor, inputs, output)
        if begun != (progress.step, len(progress.held_out)):
            _save(monitor, output)
    return True


def _agreed(run, stop):
    """Whether to stop: if one worker is to stop, all stop at the same step."""
    if n_workers(run.strategy) == 1:
        return stop()
    if run.progress.step % READ_EVERY:
        return False
    return bool(sum_over_workers(run.strategy, np.array(float(stop()))) > 0)


def _save(monitor, output):
    with monitor.other_work("Writing a checkpoint"):
        save(monitor.run, output)


def _evaluate(monitor, inputs, output):
    """Evaluates, unless the last evaluation was after the same step."""
    run, progress = monitor.run, monitor.run.progress
    with monitor.other_work("Evaluating the held-out text"):
        if progress.held_out and progress.held_out[-1][0] == progress.tokens:
            return
        result = held_out_perplexity(run, inputs)
        if np.isnan(result.zero.mean):
            raise FloatingPointError(DIVERGED)
        mean = progress.add_held_out(result)
        monitor.show_evaluation(result)
        if mean >= (math.inf if progress.best is None else progress.best):
            progress.not_better += 1
            return
        write_model(run, inputs, output)
        progress.best, progress.not_better = mean, 0


def held_out_perplexity(run: TrainingRun, inputs: Inputs) -> HeldOutPerplexity:
    """The held-out perplexity; workers share the sentences."""
    text, strategy = inputs.valid, run.strategy
    sums = held_out_sums(
        run.bilm,
        text,
        inputs.vocabulary,
        worker=worker(strategy),
        n_workers=n_workers(strategy),
    )
    return HeldOutPerplexity.of(sum_over_workers(strategy, sums), text.n_predictions)


class Monitor:
    """Collects the results of the steps, records them in the progress and shows them."""

    def __init__(self, run: TrainingRun, folder: Path, limits: Limits):
        self.run, self.limits = run, limits
        self.results: list[tuple[tf.Tensor, tf.Tensor]] = []  # not read so far
        self.row = np.zeros(3)  # tokens, seconds, and seconds of waiting, of a row
        self.untimed = 0  # first steps of graphs among them
        self.waited, self.since = 0.0, time.perf_counter()  # since the last read
        self.logs = folder / LOGS if is_chief(run.strategy) else None
        self.bar = ProgressBar(file=sys.stdout, disable=self.logs is None)
        self.bar.skip(run.progress.tokens)

    def __enter__(self) -> "Monitor":
        return self

    def __exit__(self, *_):
        self.bar.close()

    def start_epoch(self) -> None:
        """Announces the epoch."""
        progress, limits = self.run.progress, self.limits
        place = f", from step {progress.epoch_step}" if progress.epoch_step else ""
        of = f"/{limits.n_epochs}" if limits.n_epochs else ""
        self.bar.say(f"Epoch {progress.epoch + 1}{of}{place}")

    def timed(self, elements: Iterator[Any]) -> Iterator[Any]:
        """Yields the elements, and measures the time spent waiting for them."""
        while True:
            start = time.perf_counter()
            try:
                element = next(elements)
            except (StopIteration, tf.errors.OutOfRangeError):
                self.read()
                return
            self.waited += time.perf_counter() - start
            yield element

    @contextlib.contextmanager
    def other_work(self, text: str) -> Iterator[None]:
        """Surrounds what is no step: its time is left out of the steps' time."""
        self.read()
        if sys.stdout.isatty():
            self.bar.set_postfix_str(text)
        with self.bar.paused():
            yield
        self.waited, self.since = 0.0, time.perf_counter()

    @contextlib.contextmanager
    def tracing(self) -> Iterator[None]:
        """Surrounds the first step of a graph, which counts like the ones after it."""
        self.bar.say("Tracing the training step")
        with self.other_work("Tracing the training step"):
            yield
        self.untimed += 1

    def add(self, loss: tf.Tensor, n_predictions: tf.Tensor) -> None:
        """Adds the results of a step."""
        self.results.append((loss, n_predictions))
        seconds = time.perf_counter() - self.since
        if len(self.results) >= READ_EVERY or seconds > READ_AFTER:
            self.read()

    def read(self) -> None:
        """Waits for the results of all steps so far, records and shows them."""
        results = [(float(loss), int(n)) for loss, n in self.results]
        self.results.clear()
        if not results:
            return
        if not np.isfinite([loss for loss, _ in results]).all():
            raise FloatingPointError(DIVERGED)
        progress, now = self.run.progress, time.perf_counter()
        seconds, n_tokens = now - self.since, sum(n for _, n in results)
        seconds *= len(results) / max(len(results) - self.untimed, 1)
        self.row += n_tokens, seconds, self.waited
        progress.seconds += seconds
        self.waited, self.since, self.untimed = 0.0, now, 0
        speed, waiting = self.row[[0, 2]] / max(self.row[1], 1e-9)
        for step, result in enumerate(results, progress.step - len(results) + 1):
            if progress.add_step(*result):
                loss = {self.run.loss_name: progress.losses[-1][1]}
                self.write(
                    loss | {"tokens/s": speed, "waiting for data": waiting}, step
                )
                self.row[:] = 0
        steps_an_epoch = self.run.streams.n_steps(progress.epoch)
        total = self.limits.total_steps(steps_an_epoch, progress)
        self.bar.set_postfix_str(
            f"{self.run.loss_name} {progress.recent_loss():.3f} nats, "
            f"{waiting:.1%} waiting for data, step {progress.step:,}",
            refresh=False,
        )
        self.bar.add(n_tokens, progress.step / total)

    def show_evaluation(self, result: HeldOutPerplexity) -> None:
        """Prints and logs a held-out perplexity."""
        step, loss = self.run.progress.step, self.run.progress.recent_loss()
        self.bar.say(
            f"Step {step:,}: {self.run.loss_name} {loss:.3f} nats\n"
            f"Held-out perplexity: {result}"
        )
        scalars = {
            "held-out perplexity": result.zero.mean,
            "held-out perplexity, state carried over": result.carried.mean,
        }
        self.write(scalars, step)

    @functools.cached_property
    def _writer(self):
        return tf.summary.create_file_writer(str(self.logs))

    def write(self, scalars: dict[str, float], step: int) -> None:
        """Writes scalars for TensorBoard, on the chief and until writing fails."""
        if self.logs is None:
            return
        # Like `tf.summary.scalar`, which needs TensorBoard to be installed.
        kind = tf.compat.v1.SummaryMetadata()
        kind.plugin_data.plugin_name = "scalars"
        try:
            with self._writer.as_default(step=step):
                for name, value in scalars.items():
                    tf.summary.write(name, tf.constant(value, "float32"), metadata=kind)
        except tf.errors.OpError as error:
            self.logs = None
            self.bar.say(f"No more logs for TensorBoard: {error.message}")
