"""The bases of the task models."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.argument_checks import check_counts, check_names, check_numbers
from elmo_keras.layers.unquantized import Dense
from elmo_keras.tasks.batches import Batches, open_shapes, predictions
from elmo_keras.tasks.encoder import TaskEncoder
from elmo_keras.tasks.token_vectors import TokenVectors, named_weights


class TaskModel(keras.Model):
    """A network that reads tokens with a `TaskEncoder`.

    Its inputs are a mapping: field F holds strings `(batch, time)` padded with `""`,
    and `F_layers`, where present, the result of `elmo.all_layers` for them.

    Args:
        token_vectors: a `TokenVectors` layer.
        units: size of each LSTM in each direction.
        dropout: rate of the dropout between the layers.
        predicate_dim: see `TaskEncoder`.

    Attributes:
        text_fields: names of the fields with tokens.
        other_fields: names of the fields without tokens; a model needs or takes them.
        compares_tokens: whether memory grows with the product of two texts' lengths.
    """

    text_fields: tuple[str, ...] = ("tokens",)
    other_fields: tuple[str, ...] = ()
    compares_tokens = False

    def __init__(
        self,
        token_vectors: TokenVectors,
        *,
        units: int,
        dropout: float,
        predicate_dim: int = 0,
        **kwargs,
    ):
        if not isinstance(token_vectors, TokenVectors):
            raise ValueError(
                "`token_vectors` should be TokenVectors. Received: "
                f"{type(token_vectors).__name__}"
            )
        check_counts(units=units)
        check_numbers(0, 1, dropout=dropout)
        super().__init__(**kwargs)
        self.token_vectors = token_vectors
        self.units = units
        self.dropout = dropout
        self.encoder = TaskEncoder(
            token_vectors, units, dropout, predicate_dim, name="encoder"
        )
        self.drop = keras.layers.Dropout(dropout, name="drop")

    def get_config(self):
        return super().get_config() | {
            "token_vectors": keras.saving.serialize_keras_object(self.token_vectors),
            "units": self.units,
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config):
        token_vectors = keras.saving.deserialize_keras_object(config["token_vectors"])
        return cls(**config | {"token_vectors": token_vectors})

    def part_sizes(self) -> dict[str, int]:
        """The attributes after `encoder` that have weights, and the sizes of their inputs."""
        raise NotImplementedError

    def build(self, input_shape=None):
        self.encoder.build()
        for name, size in self.part_sizes().items():
            getattr(self, name).build((None, None, size))

    def named_weights(self) -> dict[str, keras.Variable]:
        """The model's weights but the biLM's, by names that files of heads rely on.

        A name says what a weight is for, such as `encoder/forward/kernel`: the first half is
        one of the model's parts, the last the name that Keras' layers give a weight. The
        model is built.
        """
        return named_weights(self, "encoder", *self.part_sizes())

    def encode(self, inputs, field, training):
        """What the encoder gives for a field of inputs."""
        layers, predicate = inputs.get(f"{field}_layers"), inputs.get("predicate")
        return self.encoder(inputs[field], layers, predicate, training=training)

    def predict(self, x, *args, **kwargs) -> Any:
        """The predictions for lists of tokens, in their order; for tensors, as Keras' method.

        Args:
            x: a list of texts, each a list of tokens; or a mapping from each field of the
                model to such a list, all of the same length. Of other inputs, such as
                tensors and data sets, and for the other arguments see `keras.Model.predict`.

        Returns:
            For lists, a list of what the model's class says.

        Raises:
            ValueError: a field is missing or unknown, or lists have other lengths.
        """
        columns = x if isinstance(x, Mapping) else {self.text_fields[0]: x}
        if not all(isinstance(column, list | tuple) for column in columns.values()):
            return super().predict(x, *args, **kwargs)
        fields = {*self.text_fields, *self.other_fields}
        lengths = {name: len(column) for name, column in columns.items()}
        is_whole = {*self.text_fields} <= {*columns} <= fields
        if not is_whole or len({*lengths.values()}) > 1:
            raise ValueError(
                f"`x` should hold lists of the same length for {', '.join(sorted(fields))}. "
                f"Received the lengths {lengths}"
            )
        rows = zip(*columns.values())
        examples = [self.read_example(dict(zip(columns, row))) for row in rows]
        return self.results(examples, self.batches(examples))

    def results(self, examples: Sequence[Mapping], batches: Batches) -> list:
        """What `predict` returns for examples, from their batches."""
        outputs = predictions(self.predict_on_batch, batches)
        return [self.result(*pair) for pair in zip(examples, outputs)]

    def batches(self, examples: Sequence[Mapping], **options: Any) -> Batches:
        """Batches of examples with this model's fields; for options see `Batches`."""
        return Batches(
            examples,
            self.text_fields,
            self.other_fields,
            compares_tokens=self.compares_tokens,
            **options,
        )

    def read_example(self, example: dict) -> dict:
        """An example with lists of tokens and of integers for all fields."""
        return example

    def result(self, example: Mapping, output: np.ndarray) -> Any:
        """What `predict` returns for an example, from its row of `decode`."""
        return output

    def predict_step(self, data):
        inputs = keras.utils.unpack_x_y_sample_weight(data)[0]
        return self.decode(inputs, self(inputs, training=False))

    def predict_on_batch(self, x):
        """As Keras' method, but with one graph for batches of all shapes."""
        x = tf.nest.map_structure(tf.convert_to_tensor, x)
        self.make_predict_function()
        if isinstance(self.predict_function, tf.types.experimental.PolymorphicFunction):
            self.predict_function.get_concrete_function([(open_shapes(x),)])
        return super().predict_on_batch(x)

    def decode(self, inputs, outputs):
        """What Keras' `predict` gives, from the model's outputs."""
        return outputs

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if sample_weight is not None:
            raise ValueError(
                f"The loss of {type(self).__name__} has no weights of examples: "
                "`sample_weight` should be None. Repeat what should count more."
            )
        return self.data_loss(x, y, y_pred) + sum(self.losses)

    def data_loss(self, x, y, y_pred) -> tf.Tensor:
        """The loss without penalties on weights."""
        raise NotImplementedError

    def answers(self, inputs) -> dict[str, tf.Tensor]:
        """What a served model returns: name → tensor `(batch, …)`, computed by a graph alone.

        There is at least one position in each field. An axis of unknown size after the
        first one counts the tokens; its positions after the last token, or the last answer,
        hold `""`, −1 for an integer and 0 for a float. Models that are not served have none.
        """
        raise NotImplementedError


def mean_cross_entropy(labels: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """The mean of −log p over the labels that are not −1."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.maximum(labels, 0), tf.cast(scores, tf.float32)
    )
    known = tf.cast(labels >= 0, losses.dtype)
    return tf.reduce_sum(losses * known) / tf.maximum(tf.reduce_sum(known), 1)


class LabelModel(TaskModel):
    """A model whose output `(batch, labels)` is a probability for each label.

    For arguments and `predict` see `TextClassifier`.
    """

    compares_tokens = True

    def __init__(
        self,
        token_vectors: TokenVectors,
        *,
        labels: Sequence[str],
        units: int = 50,
        dropout: float = 0.2,
        multi_label: bool = False,
        threshold: float = 0.3,
        **kwargs,
    ):
        check_names(labels=labels)
        check_numbers(0, 1, threshold=threshold)
        super().__init__(token_vectors, units=units, dropout=dropout, **kwargs)
        self.labels = list(labels)
        self.multi_label = multi_label
        self.threshold = threshold
        self.make_parts()
        self.decision = Dense(len(labels), name="decision")

    def probabilities(self, logits: tf.Tensor) -> Any:
        """Of each label, `(batch, labels)`."""
        ops = keras.ops
        return ops.sigmoid(logits) if self.multi_label else ops.softmax(logits)

    def make_parts(self) -> None:
        """Makes the layers between the encoder and the decision."""
        raise NotImplementedError

    def get_config(self):
        return super().get_config() | {
            "labels": self.labels,
            "multi_label": self.multi_label,
            "threshold": self.threshold,
        }

    def answers(self, inputs):
        """All `labels` and their `scores` `(batch, labels)`, and those that are predicted.

        `label` `(batch,)` is the most likely one; multi-label texts have `predicted_labels`
        `(batch, labels)`, the predicted ones in the order of `labels`, then `""`.
        """
        scores = self(inputs, training=False)
        labels = tf.broadcast_to(tf.constant(self.labels), tf.shape(scores))
        labels = tf.ensure_shape(labels, (None, len(self.labels)))
        answers = {"labels": labels, "scores": tf.cast(scores, tf.float32)}
        if not self.multi_label:
            best = tf.gather(tf.constant(self.labels), tf.argmax(scores, axis=1))
            return {"label": best} | answers
        predicted = scores >= self.threshold
        order = tf.argsort(tf.cast(~predicted, tf.int32), axis=1, stable=True)
        names = tf.gather(tf.where(predicted, labels, ""), order, batch_dims=1)
        return {"predicted_labels": names} | answers

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        loss = keras.losses.BinaryCrossentropy()
        if not self.multi_label:
            loss = keras.losses.SparseCategoricalCrossentropy()
        return keras.ops.sum([loss(y, y_pred, sample_weight), *self.losses])

    def result(self, example, output):
        if not self.multi_label:
            return self.labels[np.argmax(output)]
        return [label for label, p in zip(self.labels, output) if p >= self.threshold]
