"""The base of the models that give a text or a pair a probability for each label."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.base.argument_checks import check_labels, check_numbers
from elmo_keras.heads.labels import predicted_labels
from elmo_keras.heads.model import TaskModel
from elmo_keras.heads.token_vectors import TokenVectors
from elmo_keras.layers.unquantized import Dense


class LabelModel(TaskModel):
    """A model whose output `(batch, labels)` is a probability for each label.

    For arguments and `predict` see `TextClassifier`.
    """

    compares_tokens = True
    listed = ("labels",)

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
        check_labels(labels=labels)
        check_numbers(0, 1, threshold=threshold)
        super().__init__(token_vectors, units=units, dropout=dropout, **kwargs)
        self.labels = list(labels)
        self.multi_label = multi_label
        self.threshold = threshold
        self.make_parts()
        self.decision = Dense(len(labels), name="decision")

    def probabilities(self, logits: tf.Tensor) -> Any:
        """The probability of each label, `(batch, labels)`."""
        ops = keras.ops
        return ops.sigmoid(logits) if self.multi_label else ops.softmax(logits)

    def make_parts(self) -> None:
        """Makes the layers between the encoder and the decision."""
        raise NotImplementedError

    def arguments(self):
        return super().arguments() | {
            "labels": self.labels,
            "multi_label": self.multi_label,
            "threshold": self.threshold,
        }

    def split_scores(self, outputs, lengths):
        return list(outputs)

    def join_scores(self, scores):
        """A probability for each label: `(texts, labels)`."""
        return np.reshape(scores, (-1, len(self.labels)))

    def decode(self, scores, examples):
        return predicted_labels(self, scores)

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        loss = keras.losses.BinaryCrossentropy()
        if not self.multi_label:
            loss = keras.losses.SparseCategoricalCrossentropy()
        return keras.ops.sum([loss(y, y_pred, sample_weight), *self.losses])


def answers(model: LabelModel, inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """All `labels` and their `scores` `(batch, labels)`, and those that are predicted.

    `label` `(batch,)` is the most likely one; multi-label texts have `predicted_labels`
    `(batch, labels)`, the predicted ones in the order of `labels`, then `""`.
    """
    scores = model(inputs, training=False)
    labels = tf.broadcast_to(tf.constant(model.labels), tf.shape(scores))
    labels = tf.ensure_shape(labels, (None, len(model.labels)))
    answers = {"labels": labels, "scores": tf.cast(scores, tf.float32)}
    if not model.multi_label:
        best = tf.gather(tf.constant(model.labels), tf.argmax(scores, axis=1))
        return {"label": best} | answers
    predicted = scores >= model.threshold
    order = tf.argsort(tf.cast(~predicted, tf.int32), axis=1, stable=True)
    names = tf.gather(tf.where(predicted, labels, ""), order, batch_dims=1)
    return {"predicted_labels": names} | answers
