"""Layers and models that take another layer as an argument."""

import keras


class LayerArgument:
    """Puts the layer that is an argument of `__init__` into the config, and back.

    A mixin, listed before the Keras base class.

    Attributes:
        layer_argument: name of the argument and of the attribute that keeps it.
    """

    layer_argument = "token_vectors"

    def get_config(self):
        layer = getattr(self, self.layer_argument)
        serialized = keras.saving.serialize_keras_object(layer)
        return super().get_config() | {self.layer_argument: serialized}

    @classmethod
    def from_config(cls, config):
        layer = keras.saving.deserialize_keras_object(config[cls.layer_argument])
        return cls(**config | {cls.layer_argument: layer})
