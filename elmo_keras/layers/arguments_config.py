"""Configs of layers, made of the arguments of their constructors."""

import inspect

import keras


class ArgumentsConfig:
    """The config of a layer that keeps each argument as an attribute of its name."""

    def get_config(self):
        kinds = [k for k in type(self).__mro__ if issubclass(k, ArgumentsConfig)]
        names = [n for k in kinds for n in inspect.signature(k.__init__).parameters]
        kept = [name for name in dict.fromkeys(names) if hasattr(self, name)]
        arguments = {name: _plain(getattr(self, name)) for name in kept}
        return super().get_config() | arguments


class LayerArgument(ArgumentsConfig):
    """A layer, or model, one of whose arguments is a layer."""

    layer_argument = "token_vectors"

    @classmethod
    def from_config(cls, config):
        layer = keras.saving.deserialize_keras_object(config[cls.layer_argument])
        return cls(**config | {cls.layer_argument: layer})


def _plain(value):
    if isinstance(value, keras.layers.Dropout):
        return value.rate
    if isinstance(value, keras.layers.Layer | keras.regularizers.Regularizer):
        return keras.saving.serialize_keras_object(value)
    return list(value) if isinstance(value, tuple) else value
