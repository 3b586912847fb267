"""The base of the task models."""

import keras

from elmo_keras.tasks.layers.layer_argument import LayerArgument
from elmo_keras.tasks.layers.token_vectors import TokenVectors


class TaskModel(LayerArgument, keras.Model):
    """A model that reads `TokenVectors`.

    Its inputs are a mapping: field F holds strings `(batch, time)` padded with `""`,
    and `F_layers`, where present, the result of `elmo.layers` for them.

    Args:
        token_vectors: a `TokenVectors` layer.
    """

    def __init__(self, token_vectors: TokenVectors, **kwargs):
        super().__init__(**kwargs)
        self.token_vectors = token_vectors

    def read(self, inputs, field, training):
        """The output of `token_vectors` for a field of the inputs."""
        layers = inputs.get(f"{field}_layers")
        return self.token_vectors(inputs[field], layers, training=training)

    def predict_step(self, data):
        inputs = keras.utils.unpack_x_y_sample_weight(data)[0]
        return self.decode(inputs, self(inputs, training=False))

    def decode(self, inputs, outputs):
        """The result of `predict`; by default, the outputs."""
        return outputs
