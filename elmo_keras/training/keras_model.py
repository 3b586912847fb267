"""The language model as a Keras model: `compile`, and `fit` on streams of text."""

from collections.abc import Sequence

import keras

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.perplexity import check_softmax
from elmo_keras.training.loop import TrainingRun
from elmo_keras.training.streams import Streams

# Settings of an optimizer that need its `apply`, and `update_step` leaves out.
ONE_DEVICE_ONLY = (
    "weight_decay use_ema clipnorm global_clipnorm clipvalue gradient_accumulation_steps"
).split()


@keras.saving.register_keras_serializable("elmo_keras")
class TrainableLanguageModel(keras.Model):
    """A biLM that `fit` trains, as the command `train` does.

    `compile` takes an optimizer and no loss: it is the mean of both directions in nats
    a token, `sampled_loss` in the logs if the streams have negatives, else `loss`. With
    `jit_compile=True`, Keras' default on one GPU, XLA compiles losses and
    gradients for a few sizes of batches; where it can't, the plain step runs.

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
        self.bilm = bilm
        self.all_clip_norm_val = all_clip_norm_val
        self.parts = parts
        self.warm_up_steps = warm_up_steps
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
        """Trains on `Streams`, whose rows are those of all replicas.

        The arguments are those of `keras.Model.fit`. An epoch reads the text once. The
        callbacks of `elmo_keras.training` evaluate a held-out text (`Validation`), and
        save and resume training (`Checkpoints`).

        Raises:
            ValueError: the streams, their words or the optimizer don't fit.
            FloatingPointError: the loss is no longer finite, or far above the start.
        """
        n_replicas = self.distribute_strategy.num_replicas_in_sync
        if not isinstance(x, Streams) or x.n_rows % (n_replicas * self.parts):
            raise ValueError(
                f"`x` should be `Streams`, whose rows can be divided by "
                f"{n_replicas * self.parts}. "
                f"Received: {getattr(x, 'n_rows', type(x).__name__)}"
            )
        if not self.compiled:
            raise ValueError("Call `compile` with an optimizer before `fit`.")
        check_softmax(self.bilm, x.vocabulary)
        unused = [
            name for name in ONE_DEVICE_ONLY if getattr(self.optimizer, name, None)
        ]
        if unused and n_replicas > 1:
            raise ValueError(
                "On several devices, the optimizer should have no "
                f"{' and '.join(unused)}."
            )
        with self.distribute_strategy.scope():
            self.optimizer.build(self.bilm.trainable_weights)
        run = self.run
        traced = x, self.optimizer, bool(self.jit_compile)
        if run is None or (run.streams, run.optimizer, run.fixed_shapes) != traced:
            run = self.run = TrainingRun(self, x)  # whose steps are traced
        callback_list = keras.callbacks.CallbackList(
            callbacks, add_history=True, model=self, epochs=epochs, verbose=verbose
        )
        run.fit(epochs, callback_list, first=initial_epoch, verbose=bool(verbose))
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
