"""The bases of the task models."""

from collections.abc import Iterable, Sequence

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.argument_checks import check_counts, check_names, check_numbers
from elmo_keras.tasks.batches import Batches, open_shapes, predictions
from elmo_keras.tasks.token_vectors import TokenVectors


class TaskModel(keras.Model):
    """A model that reads `TokenVectors`.

    Its inputs are a mapping: field F holds strings `(batch, time)` padded with `""`,
    and `F_layers`, where present, the result of `elmo.all_layers` for them. `text_fields` are
    the names of the fields with tokens; if the model `compares_tokens`, memory grows with
    the product of two texts' lengths.
    """

    text_fields: tuple[str, ...] = ("tokens",)
    compares_tokens = False

    def __init__(
        self, token_vectors: TokenVectors, units: int, dropout: float, **kwargs
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
        self.dropout = keras.layers.Dropout(dropout, name="dropout")

    def get_config(self):
        return super().get_config() | {
            "token_vectors": keras.saving.serialize_keras_object(self.token_vectors),
            "units": self.units,
            "dropout": self.dropout.rate,
        }

    @classmethod
    def from_config(cls, config):
        token_vectors = keras.saving.deserialize_keras_object(config["token_vectors"])
        return cls(**config | {"token_vectors": token_vectors})

    def named_weights(self) -> dict[str, keras.Variable]:
        """The model's weights but the biLM's, by names that files of heads rely on.

        A name says what a weight is for, such as `encoder/forward/kernel`: a model lists
        the parts that make up the first half, whatever their attributes and layers are
        called, and a part's weights have the names that Keras' layers give them. The model
        is built.
        """
        raise NotImplementedError

    def read(self, inputs, field, training):
        layers = inputs.get(f"{field}_layers")
        return self.token_vectors(inputs[field], layers, training=training)

    def predict_texts(self, *texts: Sequence[Sequence[str]]) -> list:
        """The predictions for lists of tokens, in the order of `text_fields`."""
        lengths = [len(sentences) for sentences in texts]
        if len(set(lengths)) > 1:
            raise ValueError(
                f"`{'` and `'.join(self.text_fields)}` should have equal lengths. "
                f"Received: {' and '.join(map(str, lengths))}"
            )
        examples = [dict(zip(self.text_fields, tokens)) for tokens in zip(*texts)]
        batches = Batches(
            examples, self.text_fields, compares_tokens=self.compares_tokens
        )
        return predictions(self.predict_on_batch, batches)

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
        return outputs

    def answers(self, inputs) -> dict[str, tf.Tensor]:
        """What a served model returns: name → tensor `(batch, …)`, computed by a graph alone.

        There is at least one position in each field. An axis of unknown size after the
        first one counts the tokens; its positions after the last token, or the last answer,
        hold `""`, −1 for an integer and 0 for a float. Models that are not served have none.
        """
        raise NotImplementedError


class LabelModel(TaskModel):
    """A model whose output `(batch, labels)` is a probability for each label."""

    compares_tokens = True
    multi_label, threshold = False, 0.0

    def __init__(
        self,
        token_vectors: TokenVectors,
        labels: Sequence[str],
        units: int,
        dropout: float,
        **kwargs,
    ):
        check_names(labels=labels)
        super().__init__(token_vectors, units, dropout, **kwargs)
        self.labels = list(labels)

    def get_config(self):
        return super().get_config() | {"labels": self.labels}

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

    def decide(self, probabilities: Iterable[np.ndarray]) -> list:
        """The label of each example, or a list of labels for each multi-label example."""
        if not self.multi_label:
            return [self.labels[np.argmax(row)] for row in probabilities]
        return [
            [label for label, p in zip(self.labels, row) if p >= self.threshold]
            for row in probabilities
        ]
