"""The language model as a Keras model: `compile`, and `fit` on streams of text."""

import itertools
import math
from collections.abc import Sequence

import keras
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.language_model import LanguageModel
from elmo_keras.perplexity import check_softmax
from elmo_keras.text.corpus import Corpus
from elmo_keras.training.step import train_step
from elmo_keras.training.streams import Streams

# Settings of an optimizer that need its `apply`, and `update_step` leaves out.
ONE_DEVICE_ONLY = (
    "weight_decay use_ema clipnorm global_clipnorm clipvalue gradient_accumulation_steps"
).split()


@keras.saving.register_keras_serializable("elmo_keras")
class TrainableLanguageModel(keras.Model):
    """A biLM that `fit` trains in the steps of `train.py`.

    `compile` takes an optimizer and no loss: it is the mean of both directions in nats
    a token, `sampled_loss` in the logs if the streams have negatives, else `loss`.

    Args:
        bilm: a biLM with a softmax.
        all_clip_norm_val: the global norm at which the gradient is clipped.
    """

    def __init__(
        self,
        bilm: BidirectionalLanguageModel,
        *,
        all_clip_norm_val: float = 10.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_jit = False  # a batch may have any number of distinct words
        self.bilm = bilm
        self.all_clip_norm_val = all_clip_norm_val
        if not bilm.built:
            bilm.build()
        self.built = True
        self._loss = keras.metrics.Mean(name="loss")

    def call(self, inputs):
        return self.bilm(inputs)

    def fit(
        self,
        x: Streams,
        epochs: int = 1,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        validation_data: Corpus | None = None,
        **kwargs,
    ) -> keras.callbacks.History:
        """Trains on `Streams`, whose rows are those of all replicas.

        `validation_data` is a `Corpus`: `val_loss` is its loss from the zero state with
        the full softmax, `val_perplexity` exp of it. An epoch has the steps of the first
        one of `x`, if `steps_per_epoch` is not among the further arguments of Keras.
        """
        strategy, first = self.distribute_strategy, kwargs.get("initial_epoch", 0)
        n_replicas = strategy.num_replicas_in_sync
        if not isinstance(x, Streams) or x.n_rows % n_replicas:
            raise ValueError(
                f"`x` should be `Streams`, whose rows can be divided by {n_replicas}. "
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
        with strategy.scope():
            self.optimizer.build(self.bilm.trainable_weights)
            self._zero = self.bilm.lstm.zero_state(x.n_rows // n_replicas)
            self._rows = [*map(_state_variable, tf.nest.flatten(self._zero))]
        self.make_train_function(force=True)
        data = strategy.distribute_datasets_from_function(
            lambda context: _epochs(x, first, context)
        )
        if validation_data is not None:
            callbacks = [_HeldOut(validation_data, x.vocabulary), *callbacks]
        settings = {"steps_per_epoch": x.n_steps(first), "shuffle": False} | kwargs
        return super().fit(data, epochs=epochs, callbacks=[*callbacks], **settings)

    def train_step(self, data):
        parts, begins = data
        pairs = zip(tf.nest.flatten(self._zero), self._rows)
        state = [tf.where(begins, zero, rows.read_value()) for zero, rows in pairs]
        state = tf.nest.pack_sequence_as(self._zero, state)
        loss, n_predictions, state = train_step(
            self.bilm, self.optimizer, parts, state, clip_norm=self.all_clip_norm_val
        )
        for variable, rows in zip(self._rows, tf.nest.flatten(state)):
            variable.assign(rows)
        self._loss.update_state(loss, n_predictions)
        name = "sampled_loss" if "candidates" in parts[0] else "loss"
        return {name: self._loss.result()}

    def get_config(self):
        return super().get_config() | {
            "bilm": keras.saving.serialize_keras_object(self.bilm),
            "all_clip_norm_val": self.all_clip_norm_val,
        }

    @classmethod
    def from_config(cls, config):
        bilm = keras.saving.deserialize_keras_object(config["bilm"])
        return cls(**config | {"bilm": bilm})


class _HeldOut(keras.callbacks.Callback):
    """Adds the held-out loss to the logs of the callbacks after it."""

    def __init__(self, corpus, vocabulary):
        super().__init__()
        self.corpus, self.vocabulary = corpus, vocabulary

    def on_epoch_end(self, epoch, logs):
        bilm = self.model.bilm  # pyright: ignore[reportOptionalMemberAccess]
        model = LanguageModel(bilm, self.vocabulary)
        perplexity = model.perplexity(self.corpus).zero.mean
        logs.update(val_loss=math.log(perplexity), val_perplexity=perplexity)


def _state_variable(value):
    """A variable of which each replica has its rows."""
    return tf.Variable(
        value,
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
    )


def _epochs(streams, first, context):
    """The batches from an epoch on, each with whether an epoch begins with it."""
    n_replicas = context.num_replicas_in_sync // context.num_input_pipelines

    def elements():
        for epoch in itertools.count(first):
            for i, parts in enumerate(streams.batches(epoch, context=context)):
                yield parts, i < n_replicas

    parts = streams.batches(first, context=context).element_spec
    spec = parts, tf.TensorSpec((), tf.bool)
    return tf.data.Dataset.from_generator(elements, output_signature=spec)
