"""The language model as a Keras model: `compile`, and `fit` on streams of text."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf

from elmo_keras.base.progress import Progress as ProgressBar
from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.layers.loops import NOT_COMPILED, why_not_compiled
from elmo_keras.text.vocabulary import check_softmax
from elmo_keras.training.distribution import scatter_rows
from elmo_keras.training.progress import Progress
from elmo_keras.training.step import train_step
from elmo_keras.training.streams import Streams

# Settings of an optimizer that need its `apply`, and `update_step` leaves out.
ONE_DEVICE_ONLY = (
    "weight_decay use_ema clipnorm global_clipnorm clipvalue gradient_accumulation_steps"
).split()

DIVERGED = (
    "Training diverged: the loss is {:.1f} nats a token. Start again with a lower "
    "learning rate, in another folder."
)
READ_EVERY = 10  # steps between reads of the losses; each read makes the host wait
READ_AFTER = 1.0  # seconds after which the next step is read, however few there are


@keras.saving.register_keras_serializable("elmo_keras")
class TrainableLanguageModel(keras.Model):
    """A biLM that `fit` trains, as the command `train` does.

    `compile` takes an optimizer and no loss: it is the mean of both directions in nats
    a token, `sampled_loss` in the logs if the streams have negatives, else `loss`. With
    `jit_compile=True`, Keras' default on one GPU, XLA compiles losses and gradients for a
    few sizes of batches, if it can.

    Args:
        bilm: a biLM with a softmax.
        all_clip_norm_val: the global norm at which the gradient is clipped.
        parts: of a batch, computed one after another: the same update in less memory.
        warm_up_steps: the number of first steps, which train the softmax alone.
    """

    def __init__(
        self,
        bilm: BidirectionalLanguageModel,
        *,
        all_clip_norm_val: float = 10.0,
        parts: int = 1,
        warm_up_steps: int = 0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.bilm, self.all_clip_norm_val = bilm, all_clip_norm_val
        self.parts, self.warm_up_steps = parts, warm_up_steps
        self.run: TrainingRun | None = None
        if not bilm.built:
            bilm.build()
        self.built = True

    def call(self, inputs):
        return self.bilm(inputs)

    def fit(
        self,
        x: Streams,
        *,
        epochs: int = 1,
        verbose: str | int = "auto",
        callbacks: Sequence[keras.callbacks.Callback] | None = None,
        initial_epoch: int = 0,
    ) -> keras.callbacks.History:
        """Trains on `Streams`, whose rows are those of all replicas, once in an epoch.

        The arguments are those of `keras.Model.fit`. `Validation` evaluates a held-out
        text, `Checkpoints` save and resume training.

        Raises:
            ValueError: the streams, their words or the optimizer don't fit.
            FloatingPointError: the loss is no longer finite, or far above the start.
        """
        n_replicas = self.distribute_strategy.num_replicas_in_sync
        if not isinstance(x, Streams) or x.n_rows % (n_replicas * self.parts):
            raise ValueError(
                f"`x` should be `Streams`, whose rows can be divided by {n_replicas} · "
                f"{self.parts}. Received: {getattr(x, 'n_rows', type(x).__name__)}"
            )
        if not self.compiled:
            raise ValueError("Call `compile` with an optimizer before `fit`.")
        check_softmax(self.bilm.vocabulary_size, x.vocabulary)
        unused = [n for n in ONE_DEVICE_ONLY if getattr(self.optimizer, n, None)]
        if unused and n_replicas > 1:
            names = " and ".join(unused)
            raise ValueError(
                f"On several devices, the optimizer should have no {names}."
            )
        with self.distribute_strategy.scope():
            self.optimizer.build(self.bilm.trainable_weights)
        run = self.run
        traced = x, self.optimizer, bool(self.jit_compile)
        if run is None or (run.streams, run.optimizer, run.fixed_shapes) != traced:
            run = self.run = TrainingRun(self, x)  # whose steps are traced
        called = keras.callbacks.CallbackList(
            callbacks, add_history=True, model=self, epochs=epochs, verbose=verbose
        )
        run.fit(epochs, called, first=initial_epoch, verbose=bool(verbose))
        return self.history

    def get_config(self):
        return super().get_config() | {
            "bilm": keras.saving.serialize_keras_object(self.bilm),
            "all_clip_norm_val": self.all_clip_norm_val,
            "parts": self.parts,
            "warm_up_steps": self.warm_up_steps,
        }

    @classmethod
    def from_config(cls, config):
        bilm = keras.saving.deserialize_keras_object(config["bilm"])
        return cls(**config | {"bilm": bilm})


class TrainingRun:
    """The training of a model on streams, which its callbacks find as `model.run`."""

    def __init__(self, model: TrainableLanguageModel, streams: Streams):
        self.model, self.streams = model, streams
        self.optimizer, self.strategy = model.optimizer, model.distribute_strategy
        # A sampled loss is never taken for a full one.
        self.loss_name = "loss" if streams.n_negatives is None else "sampled_loss"
        self.loss_title = self.loss_name.replace("_", " ")
        # Traced steps, of the whole model (False) and of the softmax alone (True).
        self.steps: dict[bool, Callable] = {}
        # False once XLA has failed; the batches keep their fixed shapes.
        self.jit_compile = self.fixed_shapes = bool(model.jit_compile)
        self._compiled: set[tuple[int, ...]] = set()  # sizes of batches

    def variables(self) -> dict[str, keras.Variable]:
        weights = enumerate(self.model.bilm.trainable_weights)
        slots = enumerate(self.optimizer.variables)
        return {f"weights/{i}": weight for i, weight in weights} | {
            f"optimizer/{i}": slot for i, slot in slots
        }

    def reset_state(self) -> None:
        zeros = self.model.bilm.lstm.zero_state(self.streams.n_rows)
        self.state: Any = scatter_rows(self.strategy, zeros)  # of each replica's rows

    def fit(
        self,
        epochs: int,
        callbacks: keras.callbacks.CallbackList,
        *,
        first: int,
        verbose: bool,
    ) -> None:
        """Trains until epochs end or a callback sets `stop_training` of the model."""
        chosen_by = "zero" if self.streams.zero_state_share else "carried"
        self.progress, self._unread = Progress(first, chosen_by=chosen_by), []
        self.n_steps = (epochs - first) * self.streams.n_steps(first)  # at most
        self._since = time.perf_counter()  # of the last read
        self.reset_state()
        self.model.stop_training = False
        with ProgressBar(file=sys.stdout, disable=not verbose) as self.bar:
            callbacks.on_train_begin()
            self.bar.skip(self.progress.tokens)
            while self.progress.epoch < epochs and not self.model.stop_training:
                self._fit_epoch(epochs, callbacks)
            callbacks.on_train_end()

    def _fit_epoch(self, epochs, callbacks):
        progress = self.progress
        epoch, first_row = progress.epoch, len(progress.losses)
        callbacks.on_epoch_begin(epoch)
        start = f", from step {progress.epoch_step}" if progress.epoch_step else ""
        total = f"/{epochs}" if epochs < sys.maxsize else ""
        self.bar.say(f"Epoch {epoch + 1}{total}{start}")
        batches = self.strategy.distribute_datasets_from_function(
            lambda context: self.streams.batches(
                epoch,
                progress.epoch_step,
                n_parts=self.model.parts,
                context=context,
                fixed_shapes=self.fixed_shapes,
            )
        )
        self._since = time.perf_counter()
        for step, batch in enumerate(batches, progress.epoch_step):
            # Not those of the list, which would read the loss of every step.
            for callback in callbacks.callbacks:
                callback.on_train_batch_begin(step)
            logs = self._step(batch, batches.element_spec)
            for callback in callbacks.callbacks:
                callback.on_train_batch_end(step, logs)
            if self.model.stop_training:
                break
        else:
            progress.epoch, progress.epoch_step = epoch + 1, 0
            self.reset_state()
        self.read()
        callbacks.on_epoch_end(epoch, {self.loss_name: progress.mean_loss(first_row)})

    def _step(self, batch, spec):
        """Updates the weights with a batch; the first step of a graph traces it."""
        only_softmax = self.progress.step < self.model.warm_up_steps
        is_ready = only_softmax in self.steps
        if not is_ready:
            self.bar.say("Tracing the training step")
            self.steps[only_softmax] = self._trace_step(spec, only_softmax)
        if self._is_to_compile(batch, only_softmax):
            is_ready = False
        with contextlib.nullcontext() if is_ready else self.paused("Tracing"):
            try:
                *results, self.state = self.steps[only_softmax](batch, self.state)
            except NOT_COMPILED as error:
                if is_ready or not self.jit_compile:
                    raise
                reason = why_not_compiled(error)
                self.bar.say(f"XLA can't compile the training step: {reason}")
                self.jit_compile = False
                self.steps.clear()
                return self._step(batch, spec)
            results = [self.strategy.experimental_local_results(x)[0] for x in results]
            if not is_ready:
                float(results[0])  # waits for the step
        self.progress.step += 1
        self.progress.epoch_step += 1
        self._unread.append(results)
        self.read(at_least=READ_EVERY)
        return {self.loss_name: results[0]}

    def _is_to_compile(self, parts, only_softmax):
        """Whether XLA compiles the step for a part of this batch, which is then said."""
        before, local = len(self._compiled), self.strategy.experimental_local_results
        for part in parts if self.jit_compile else ():
            # All else has the same size in every batch.
            words = map(local, part["characters"])
            candidates = local(part.get("candidates", part["seed"]))
            for *pieces, ids in zip(*words, candidates):
                sizes = only_softmax, sum(len(x) for x in pieces), len(ids)
                if sizes not in self._compiled:
                    self.bar.say(f"Compiling the training step for {sizes[1]:,} words")
                self._compiled.add(sizes)
        return len(self._compiled) > before

    def _trace_step(self, batch_spec, only_softmax):
        """`train_step` on all replicas as a graph: (batch, state) → their results."""

        def step(parts, state):
            return train_step(
                self.model.bilm,
                self.optimizer,
                parts,
                state,
                clip_norm=self.model.all_clip_norm_val,
                only_softmax=only_softmax,
                jit_compile=self.jit_compile,
            )

        # The number of distinct words changes from batch to batch: without a signature
        # the step would be traced each time.
        return tf.function(
            lambda *batch_and_state: self.strategy.run(step, batch_and_state),
            input_signature=[
                batch_spec,
                tf.nest.map_structure(tf.type_spec_from_value, self.state),
            ],
            autograph=False,
        )

    def read(self, at_least: int = 1) -> None:
        """Waits for the results of the steps, if there are enough or a second is over."""
        is_late = time.perf_counter() - self._since >= READ_AFTER
        if not self._unread or not (is_late or len(self._unread) >= at_least):
            return
        progress, before = self.progress, self.progress.tokens
        for loss, n_tokens in self._unread:
            progress.add_step(float(loss), int(n_tokens))
        if not progress.mean_loss() < progress.highest_loss:
            raise FloatingPointError(DIVERGED.format(progress.mean_loss()))
        now = time.perf_counter()
        progress.seconds += now - self._since
        self._unread, self._since = [], now
        loss = f"{self.loss_title} {progress.mean_loss():.3f} nats"
        self.bar.set_postfix_str(f"{loss}, step {progress.step:,}", refresh=False)
        self.bar.add(progress.tokens - before, progress.step / self.n_steps)

    @contextlib.contextmanager
    def paused(self, text: str) -> Iterator[None]:
        """Surrounds what is no step: its time is left out of the steps' time."""
        self.read()
        if sys.stdout.isatty():
            self.bar.set_postfix_str(text)
        with self.bar.paused():
            yield
        self._since = time.perf_counter()


class TrainingCallback(keras.callbacks.Callback):
    """A callback of a `TrainableLanguageModel`."""

    @property
    def run(self) -> TrainingRun:
        return self.model.run  # pyright: ignore[reportOptionalMemberAccess]
