"""The callbacks of training: a held-out text, limits, signals, logs."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.formats.model_directory import save_model
from elmo_keras.perplexity import HeldOutPerplexity, log_probability_sums
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.training.checkpoint import Checkpoints
from elmo_keras.training.distribution import n_workers, sum_over_workers, worker
from elmo_keras.training.keras_model import DIVERGED, READ_EVERY, TrainingCallback
from elmo_keras.training.options import Limits
from elmo_keras.training.progress import ROW_STEPS


class Validation(TrainingCallback):
    """Evaluates a held-out text with the full softmax, first and after each epoch.

    The callbacks after it find in the logs `val_loss`, the mean loss with each sentence
    read from the zero state, and `val_perplexity`.

    Args:
        corpus: the held-out text.
        vocabulary: the words of the softmax.
        every: steps after which it is evaluated, too.
        directory: where the model with the lowest perplexity is written; the one before
            training counts, too.
        keep_last: whether the last evaluated model is written instead.
        options: further keys of its `options.json`.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Vocabulary,
        *,
        every: int | None = None,
        directory: str | Path | None = None,
        keep_last: bool = False,
        options: dict[str, Any] | None = None,
    ):
        super().__init__()
        self.corpus, self.vocabulary, self.every = corpus, vocabulary, every
        self.directory = directory and Path(directory)
        self.options, self.keep_last = options, keep_last

    def on_epoch_begin(self, epoch, logs=None):
        run = self.run
        if not run.progress.held_out:
            run.bar.say("Evaluating before training")
            before = self.evaluate()
            run.progress.add_evaluation(before)
            run.bar.say(f"Held-out perplexity before training: {before}")

    def on_train_batch_begin(self, batch, logs=None):
        # Not earlier: a model without a checkpoint is taken for a finished one.
        if self.run.progress.step == 0:
            self._write_model()

    def on_train_batch_end(self, batch, logs=None):
        if self.every and not self.run.progress.step % self.every:
            self.add_evaluation()

    def on_epoch_end(self, epoch, logs):
        self.add_evaluation()
        perplexity = self.run.progress.evaluations()[-1].zero.mean
        logs |= {"val_loss": math.log(perplexity), "val_perplexity": perplexity}

    def add_evaluation(self) -> None:
        """Evaluates the model as it is, and writes it if it is to be kept."""
        run, progress = self.run, self.run.progress
        with run.paused("Evaluating the held-out text"):
            if progress.held_out[-1][0] == progress.tokens:
                return
            result = self.evaluate()
            progress.add_evaluation(result)
            loss = f"{run.loss_title} {progress.mean_loss():.3f} nats"
            run.bar.say(
                f"Step {progress.step:,}: {loss}\nHeld-out perplexity: {result}"
            )
            if self.kept == len(progress.held_out) - 1:
                self._write_model()

    @property
    def kept(self) -> int:
        """The index of the evaluation of the model that is kept."""
        progress = self.run.progress
        return len(progress.held_out) - 1 if self.keep_last else progress.best

    def evaluate(self) -> HeldOutPerplexity:
        """The perplexity of the held-out text; workers share its rows."""
        strategy = self.run.strategy
        sums = log_probability_sums(
            self.run.model.bilm,
            self.corpus,
            self.vocabulary,
            worker=worker(strategy),
            n_workers=n_workers(strategy),
        )
        result = HeldOutPerplexity.from_sums(
            sum_over_workers(strategy, sums), self.corpus.n_predictions
        )
        if not np.isfinite(result).all():
            raise FloatingPointError(DIVERGED.format(np.log(result.zero.mean)))
        return result

    def _write_model(self):
        if self.directory is not None and worker(self.run.strategy) == 0:
            bilm = self.run.model.bilm
            save_model(self.directory, bilm, self.vocabulary, options=self.options)


class Stopped(Exception):
    """Training was stopped after a step, which has a checkpoint."""


class StopAt(TrainingCallback):
    """Ends training at a limit, or when `stop` is true after a step.

    A stop saves a checkpoint and raises `Stopped`: what comes after the last step is not
    waited for, but for a first evaluation.
    """

    def __init__(
        self,
        limits: Limits,
        checkpoints: Checkpoints,
        validation: Validation,
        stop: Callable[[], bool],
    ):
        super().__init__()
        self.limits, self.checkpoints, self.stop = limits, checkpoints, stop
        self.validation = validation

    def on_train_begin(self, logs=None):
        run = self.run
        run.n_steps = self.limits.total_steps(run.streams.n_steps(0))
        if reached := self.limits.reached(run.progress):
            limits = " and ".join(f"{name} {n}" for name, n in reached.items())
            run.bar.say(f"Training is finished: it has reached {limits}.")
            self.run.model.stop_training = True

    def on_train_batch_end(self, batch, logs=None):
        self.on_epoch_end(0)
        if not self.run.model.stop_training and self._agree():
            self.checkpoints.save()
            if len(self.run.progress.held_out) == 1:  # or no training would be kept
                self.validation.add_evaluation()
            raise Stopped

    def on_epoch_end(self, epoch, logs=None):
        if self.limits.reached(self.run.progress):
            self.run.model.stop_training = True

    def _agree(self):
        """Whether to stop: if one worker is to stop, all stop at the same step."""
        run = self.run
        if n_workers(run.strategy) == 1:
            return self.stop()
        if run.progress.step % READ_EVERY:
            return False
        return bool(sum_over_workers(run.strategy, np.array(float(self.stop()))) > 0)


class Logs(TrainingCallback):
    """Writes losses, rates and perplexities for TensorBoard, which need not be installed."""

    def __init__(self, folder: Path):
        super().__init__()
        self.folder = folder

    def on_train_begin(self, logs=None):
        self.writer = tf.summary.create_noop_writer()
        if worker(self.run.strategy) == 0:
            self.writer = tf.summary.create_file_writer(str(self.folder))
        self.n_evaluations = len(self.run.progress.held_out)  # which are written

    def on_epoch_begin(self, epoch, logs=None):
        for result in self.run.progress.evaluations()[self.n_evaluations :]:
            self.n_evaluations += 1
            for name, perplexity in result._asdict().items():
                self._write(f"held-out perplexity, state {name}", perplexity.mean)

    def on_train_batch_end(self, batch, logs=None):
        run, progress = self.run, self.run.progress
        if progress.step % ROW_STEPS == 0:
            run.read()
            self._write(run.loss_name, progress.mean_loss(-1))
            self._write("tokens/s", progress.tokens / max(progress.seconds, 1e-9))
        self.on_epoch_begin(0)

    def on_epoch_end(self, epoch, logs=None):
        self.on_epoch_begin(epoch)
        self.writer.flush()

    def _write(self, name, value):
        # Like `tf.summary.scalar`, which needs TensorBoard to be installed.
        metadata = tf.compat.v1.SummaryMetadata()
        metadata.plugin_data.plugin_name = "scalars"
        with self.writer.as_default(step=self.run.progress.step):
            tf.summary.write(name, tf.constant(value, "float32"), metadata=metadata)
