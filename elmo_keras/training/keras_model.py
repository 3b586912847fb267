"""The language model as a Keras model: `compile`, and `fit` on streams of text."""

from collections.abc import Sequence

import keras

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.text.vocabulary import check_softmax
from elmo_keras.training.checkpoint import Checkpoints
from elmo_keras.training.loop import TrainingRun
from elmo_keras.training.options import Limits
from elmo_keras.training.streams import Streams
from elmo_keras.training.traced_steps import TracedSteps
from elmo_keras.training.validation import Validation

# Settings of an optimizer that only its `apply` knows, not `update_step`.
ONE_DEVICE_ONLY = (
    "weight_decay",
    "use_ema",
    "clipnorm",
    "global_clipnorm",
    "clipvalue",
    "gradient_accumulation_steps",
)


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
        parts: the number of parts of a batch that are computed one after another: the
            same update in less memory.
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
        self.run: TrainingRun | None = None  # the last one, for callbacks
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
        checkpoints: Checkpoints | None = None,
        validation: Validation | None = None,
    ) -> keras.callbacks.History:
        """Trains on `Streams`, whose rows are those of all replicas, once in an epoch.

        Args:
            x: the streams.
            epochs: the number of epochs, including those before a resumed checkpoint.
            verbose: 0 to print nothing.
            callbacks: callbacks of Keras, which find the run as `model.run`.
            checkpoints: saves the run, and resumes it.
            validation: evaluates a held-out text.

        Raises:
            ValueError: the streams, their words or the optimizer don't fit.
            FloatingPointError: the loss is no longer finite, or far above the start.
        """
        self.start_run(
            x,
            Limits(epochs=epochs),
            checkpoints=checkpoints,
            validation=validation,
            callbacks=callbacks,
            verbose=bool(verbose),
        ).train()
        return self.history

    def start_run(self, streams: Streams, limits: Limits, **kwargs) -> TrainingRun:
        """A run with arguments of `TrainingRun`; steps are traced once for all runs."""
        self._check(streams)
        with self.distribute_strategy.scope():
            self.optimizer.build(self.bilm.trainable_weights)
        steps = self.run.steps if self.run else None
        if steps is None or not steps.are_for(self, streams):
            steps = TracedSteps(self, streams)
        return TrainingRun(steps, limits, **kwargs)

    def _check(self, streams):
        n_replicas = self.distribute_strategy.num_replicas_in_sync
        is_streams = isinstance(streams, Streams)
        if not is_streams or streams.n_rows % (n_replicas * self.parts):
            raise ValueError(
                f"`x` should be `Streams`, whose rows can be divided by {n_replicas} · "
                f"{self.parts}. Received: "
                f"{streams.n_rows if is_streams else type(streams).__name__}"
            )
        if not self.compiled:
            raise ValueError("Call `compile` with an optimizer before `fit`.")
        check_softmax(self.bilm.vocabulary_size, streams.vocabulary)
        unused = [n for n in ONE_DEVICE_ONLY if getattr(self.optimizer, n, None)]
        if unused and n_replicas > 1:
            names = " and ".join(unused)
            raise ValueError(
                f"On several devices, the optimizer should have no {names}."
            )

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
