"""The base of the task models."""

from collections.abc import Mapping

import keras
import tensorflow as tf

from elmo_keras.tasks.layers.token_vectors import LayerArgument, TokenVectors


def open_shapes(inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.TensorSpec]:
    """The specs of a batch's fields, for one graph that serves all batches.

    Of `F_layers`, the number of layers and `dim` stay.
    """

    def spec(name, tensor):
        shape = [None] * tensor.shape.rank
        if name.endswith("_layers"):
            shape = [None, tensor.shape[1], None, tensor.shape[3]]
        return tf.TensorSpec(shape, tensor.dtype)

    return {name: spec(name, tensor) for name, tensor in inputs.items()}


class TaskModel(LayerArgument, keras.Model):
    """A model that reads `TokenVectors`.

    Its inputs are a mapping: field F holds strings `(batch, time)` padded with `""`,
    and `F_layers`, where present, the result of `elmo.layers` for them.

    Args:
        token_vectors: a `TokenVectors` layer.

    Attributes:
        text_fields: names of the fields with tokens.
        compares_tokens: whether memory grows with the product of two texts' lengths.
    """

    text_fields: tuple[str, ...] = ("tokens",)
    compares_tokens = False

    def __init__(self, token_vectors: TokenVectors, **kwargs):
        super().__init__(**kwargs)
        self.token_vectors = token_vectors

    def read(self, inputs, field, training):
        layers = inputs.get(f"{field}_layers")
        return self.token_vectors(inputs[field], layers, training=training)

    def predict_step(self, data):
        inputs = keras.utils.unpack_x_y_sample_weight(data)[0]
        return self.decode(inputs, self(inputs, training=False))

    def predict_on_batch(self, x):
        """As Keras' method, with one graph for batches of all shapes.

        Keras traces others when the numbers of examples or tokens change.
        """
        x = tf.nest.map_structure(tf.convert_to_tensor, x)
        self.make_predict_function()
        if not self.run_eagerly:
            self.predict_function.get_concrete_function([(open_shapes(x),)])
        return super().predict_on_batch(x)

    def decode(self, inputs, outputs):
        return outputs

    def answers(self, inputs) -> dict[str, tf.Tensor]:
        """What a served model returns: name → tensor `(batch, …)`, computed by a graph alone.

        There is at least one position in each field. An axis of unknown size after the
        first one counts the tokens; its places after the last token, or the last answer,
        hold `""`, −1 for an integer and 0 for a float. Models that are not served have none.
        """
        raise NotImplementedError
