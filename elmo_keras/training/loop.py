"""The loop of training: checkpoint, step, evaluate, log, and end at a limit."""

import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.base.files import check_same_run
from elmo_keras.base.progress import Progress as ProgressBar
from elmo_keras.layers.loops import NOT_COMPILED
from elmo_keras.training import distribution
from elmo_keras.training.checkpoint import (
    Checkpoints,
    newest_checkpoint,
    save_checkpoint,
)
from elmo_keras.training.options import Limits
from elmo_keras.training.progress import ROW_STEPS, Progress, diverged
from elmo_keras.training.traced_steps import TracedSteps
from elmo_keras.training.validation import Validation

READ_EVERY = 10  # steps between reads of the losses; each read makes the host wait
READ_AFTER = 1.0  # seconds after which the next step is read, however few there are


class TrainingRun:
    """A run of training, which callbacks find as `model.run`.

    It ends at a limit, when a callback sets `stop_training`, or after `stop()`, when only
    a checkpoint is written, and a first evaluation is made.
    """

    def __init__(
        self,
        steps: TracedSteps,
        limits: Limits,
        *,
        checkpoints: Checkpoints | None = None,
        validation: Validation | None = None,
        logs: Path | None = None,  # the folder of curves for TensorBoard
        stop: Callable[[], bool] = lambda: False,
        callbacks: Sequence[keras.callbacks.Callback] | None = None,
        verbose: bool = True,
    ):
        self.steps, self.model, self.streams = steps, steps.model, steps.streams
        self.limits, self.stop, self.verbose = limits, stop, verbose
        self.checkpoints, self.validation = checkpoints, validation
        self.strategy: tf.distribute.Strategy = steps.strategy
        self.is_first_worker = distribution.worker(self.strategy) == 0
        self.n_steps = limits.total_steps(self.streams.n_steps(0))
        # A sampled loss is never taken for a full one.
        self.loss_name = "loss" if self.streams.n_negatives is None else "sampled_loss"
        self.loss_title = self.loss_name.replace("_", " ")
        self.logs = tf.summary.create_noop_writer()
        if logs is not None and self.is_first_worker:
            self.logs = tf.summary.create_file_writer(str(logs))
        chosen_by = "zero" if self.streams.zero_state_share else "carried"
        self.progress, self._unread = Progress(chosen_by=chosen_by), []
        self.interrupted = False  # whether `stop` ended the run
        self._saved_step: int | None = None  # the last one that has a checkpoint
        self.model.run = self
        self.callbacks = keras.callbacks.CallbackList(
            callbacks, add_history=True, model=self.model, epochs=limits.epochs
        )

    def train(self) -> None:
        self.model.stop_training = False
        self._last_read = time.perf_counter()
        self.reset_state()
        with ProgressBar(file=sys.stdout, disable=not self.verbose) as self.bar:
            self.restore()
            if reached := self.limits.reached(self.progress):
                limits = " and ".join(f"{name} {n}" for name, n in reached.items())
                self.bar.say(f"Training is finished: it has reached {limits}.")
            self.bar.skip(self.progress.tokens)
            self.callbacks.on_train_begin()
            while not self.is_over():
                self.train_epoch()
            self.save()
            if self.interrupted and len(self.progress.held_out) == 1:
                self.evaluate()  # or no training would be kept
            self.callbacks.on_train_end()

    def train_epoch(self) -> None:
        progress = self.progress
        epoch, first_row = progress.epoch, len(progress.losses)
        self.callbacks.on_epoch_begin(epoch)
        if not progress.held_out:
            self.evaluate()
        total = f"/{self.limits.epochs}" if self.limits.epochs else ""
        start = f", from step {progress.epoch_step}" if progress.epoch_step else ""
        self.bar.say(f"Epoch {epoch + 1}{total}{start}")
        batches = self.steps.batches(epoch, progress.epoch_step)
        self._last_read = time.perf_counter()
        for step, batch in enumerate(batches, progress.epoch_step):
            if progress.epoch_step == 0 or self.is_due(self.checkpoints):
                self.save()
            if progress.step == 0:
                # Not earlier: a model without a checkpoint is taken for a finished one.
                self.write_model()
            # Not by the list, which would read the loss of every step.
            for callback in self.callbacks.callbacks:
                callback.on_train_batch_begin(step)
            loss = self.step(batch)
            if self.is_due(self.validation):
                self.evaluate()
            if progress.step % ROW_STEPS == 0:
                self.log_step()
            for callback in self.callbacks.callbacks:
                callback.on_train_batch_end(step, {self.loss_name: loss})
            self.interrupted = not self.is_over() and self.is_stopped()
            if self.is_over():
                break
        else:
            progress.epoch, progress.epoch_step = epoch + 1, 0
            self.reset_state()
        self.read()
        if not self.interrupted:
            self.evaluate()
            logs = {self.loss_name: progress.mean_loss(first_row)}
            if self.validation is not None:
                perplexity = progress.evaluations()[-1].zero.mean
                logs["val_loss"] = float(np.log(perplexity))
                logs["val_perplexity"] = perplexity
            self.callbacks.on_epoch_end(epoch, logs)

    def is_due(self, part: Checkpoints | Validation | None) -> bool:
        every = part and part.every
        return bool(every) and self.progress.step % every == 0

    def is_over(self) -> bool:
        ended = self.interrupted or self.model.stop_training
        return bool(ended or self.limits.reached(self.progress))

    def is_stopped(self) -> bool:
        """Whether to stop: if one worker is to stop, all stop at the same step."""
        if distribution.n_workers(self.strategy) == 1:
            return self.stop()
        if self.progress.step % READ_EVERY:
            return False
        stops = np.array(float(self.stop()))
        return distribution.sum_over_workers(self.strategy, stops) > 0

    def reset_state(self) -> None:
        zeros = self.model.bilm.lstm.zero_state(self.streams.n_rows)
        # Each replica has the state of its rows.
        self.state: Any = distribution.scatter_rows(self.strategy, zeros)

    def step(self, batch: Any) -> tf.Tensor:
        """Updates the weights with a batch; returns the loss."""
        only_softmax = self.progress.step < self.model.warm_up_steps
        news = self.steps.news(batch, only_softmax=only_softmax)
        for line in news:
            self.bar.say(line)
        with self.paused("Tracing") if news else contextlib.nullcontext():
            try:
                results = self.steps(batch, self.state, only_softmax=only_softmax)
            except NOT_COMPILED as error:
                if not (news and self.steps.jit_compile):
                    raise
                reason = self.steps.give_up_xla(error)
                self.bar.say(f"XLA can't compile the training step: {reason}")
                return self.step(batch)
            loss, n_tokens, self.state = results
            if news:
                float(loss)  # waits for the step
        self.progress.step += 1
        self.progress.epoch_step += 1
        self._unread.append((loss, n_tokens))
        self.read(at_least=READ_EVERY)
        return loss

    def read(self, at_least: int = 1) -> None:
        """Waits for the results of the steps, if there are enough or a second is over."""
        is_late = time.perf_counter() - self._last_read >= READ_AFTER
        if not self._unread or not (is_late or len(self._unread) >= at_least):
            return
        progress, n_tokens_before = self.progress, self.progress.tokens
        for loss, n_tokens in self._unread:
            progress.add_step(float(loss), int(n_tokens))
        if not progress.mean_loss() < progress.highest_loss:
            raise diverged(progress.mean_loss())
        now = time.perf_counter()
        progress.seconds += now - self._last_read
        self._unread, self._last_read = [], now
        loss = f"{self.loss_title} {progress.mean_loss():.3f} nats"
        self.bar.set_postfix_str(f"{loss}, step {progress.step:,}", refresh=False)
        self.bar.add(progress.tokens - n_tokens_before, progress.step / self.n_steps)

    @contextlib.contextmanager
    def paused(self, text: str) -> Iterator[None]:
        """Leaves the time of other work out of the steps' time."""
        self.read()
        if sys.stdout.isatty():
            self.bar.set_postfix_str(text)
        with self.bar.paused():
            yield
        self._last_read = time.perf_counter()

    def evaluate(self) -> None:
        """Evaluates the held-out text, once a step, and writes a model that is chosen."""
        progress = self.progress
        if self.validation is None:
            return
        with self.paused("Evaluating the held-out text"):
            if progress.held_out and progress.held_out[-1][0] == progress.tokens:
                return
            if not progress.held_out:
                self.bar.say("Evaluating before training")
            result = self.validation.perplexity(self.model.bilm, self.strategy)
            progress.add_evaluation(result)
            if len(progress.held_out) == 1:
                self.bar.say(f"Held-out perplexity before training: {result}")
            else:
                loss = f"{self.loss_title} {progress.mean_loss():.3f} nats"
                self.bar.say(
                    f"Step {progress.step:,}: {loss}\nHeld-out perplexity: {result}"
                )
                last = len(progress.held_out) - 1
                if progress.chosen(self.validation.keep_last) == last:
                    self.write_model()
        for name, perplexity in result._asdict().items():
            self.log(f"held-out perplexity, state {name}", perplexity.mean)
        self.logs.flush()

    def write_model(self) -> None:
        if self.validation is not None and self.is_first_worker:
            self.validation.write_model(self.model.bilm)

    def log_step(self) -> None:
        self.read()
        progress = self.progress
        self.log(self.loss_name, progress.mean_loss(-1))
        self.log("tokens/s", progress.tokens / max(progress.seconds, 1e-9))

    def log(self, name: str, value: float) -> None:
        # Like `tf.summary.scalar`, which needs TensorBoard to be installed.
        metadata = tf.compat.v1.SummaryMetadata()
        metadata.plugin_data.plugin_name = "scalars"
        with self.logs.as_default(step=self.progress.step):
            tf.summary.write(name, tf.constant(value, "float32"), metadata=metadata)

    def metadata(self) -> dict[str, Any]:
        """Values that must not change when the run is resumed."""
        return {
            **(self.checkpoints.metadata if self.checkpoints else {}),
            **self.streams.metadata(),
            "optimizer": type(self.steps.optimizer).__name__,
            "all_clip_norm_val": self.model.all_clip_norm_val,
            "parts": self.model.parts,
            "steps of warm-up": self.model.warm_up_steps,
        }

    def variables(self) -> dict[str, keras.Variable]:
        weights = enumerate(self.model.bilm.trainable_weights)
        slots = enumerate(self.steps.optimizer.variables)
        return {f"weights/{i}": weight for i, weight in weights} | {
            f"optimizer/{i}": slot for i, slot in slots
        }

    def save(self) -> None:
        """Writes a checkpoint, once a step; all workers call it, and the first writes."""
        if self.checkpoints is None or self._saved_step == self.progress.step:
            return
        with self.paused("Writing a checkpoint"):
            rows = tf.nest.flatten(distribution.gather_rows(self.strategy, self.state))
            self._saved_step = self.progress.step
            if not self.is_first_worker:
                return
            arrays = {name: v.numpy() for name, v in self.variables().items()}
            if not all(np.isfinite(array).all() for array in arrays.values()):
                raise FloatingPointError(
                    "The weights are no longer finite, so they are not saved."
                )
            arrays |= {f"state/{i}": x for i, x in enumerate(rows)}
            progress = dataclasses.asdict(self.progress)
            metadata = {"run": self.metadata(), "progress": progress}
            folder = Path(self.checkpoints.folder)
            save_checkpoint(folder, self.progress.step, arrays, metadata=metadata)

    def restore(self) -> None:
        """Continues from the newest checkpoint, if there is one."""
        if self.checkpoints is None:
            return
        folder = Path(self.checkpoints.folder)
        if checkpoint := newest_checkpoint(folder):
            self._read_checkpoint(*checkpoint)
            self._saved_step = self.progress.step
            self.bar.say(f"Resuming from step {self._saved_step:,}, {checkpoint[-1]}")
        step = self.progress.step
        total = distribution.sum_over_workers(self.strategy, np.array(float(step)))
        if total != step * distribution.n_workers(self.strategy):
            raise ValueError(
                f"{folder} should be one directory that all workers share. It is at "
                f"step {step} for this worker, but not for all workers."
            )

    def _read_checkpoint(self, arrays, metadata, path):
        advice = "Give the same value, or another directory."
        try:
            check_same_run(self.metadata(), metadata["run"], path, advice)
            for name, variable in self.variables().items():
                variable.assign(arrays[name])
            zeros = self.model.bilm.lstm.zero_state(self.streams.n_rows)
            rows = [
                tf.cast(arrays[f"state/{i}"], zero.dtype)
                for i, zero in enumerate(tf.nest.flatten(zeros))
            ]
            state = tf.nest.pack_sequence_as(zeros, rows)
            self.state = distribution.scatter_rows(self.strategy, state)
            self.progress = Progress(**metadata["progress"])
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{path} is of another version: {error!r}. Give another directory."
            ) from error
