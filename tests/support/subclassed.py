"""A Keras model by subclassing, as people write one around an `Elmo` layer."""

import sys

import keras
import numpy as np
import tensorflow as tf

from elmo_keras import Elmo, ElmoConfig, tokenize


@keras.saving.register_keras_serializable("tests")
class Subclassed(keras.Model):
    def __init__(self, *, raw_text: bool = False, **kwargs):
        super().__init__(**kwargs)
        self.raw_text = raw_text
        self.elmo = Elmo(ElmoConfig.preset("test"))
        self.dense = keras.layers.Dense(2)

    def call(self, inputs):
        return self.dense(self.elmo(tokenize(inputs) if self.raw_text else inputs))

    def get_config(self):
        return super().get_config() | {"raw_text": self.raw_text}


def inputs_of(path) -> tf.Tensor:
    """What the model of a file takes; the file has the name of its kind."""
    return {
        "text": tf.constant(["a b", "c"]),
        "ids": tf.ones((2, 3, 9), tf.int32),
        "layers": tf.ones((2, 3, 4, 10)),
    }.get(path.stem, tf.constant([["a", "b"], ["c", ""]]))


if __name__ == "__main__":  # prints the sum of each file's outputs
    import pathlib

    for path in map(pathlib.Path, sys.argv[1:]):
        outputs = keras.models.load_model(path)(inputs_of(path))
        print(repr(float(np.sum(np.asarray(outputs, np.float64)))))
