"""Layers within other layers, which a model's `quantize` leaves as they are.

Keras 3.15 quantizes each `keras.layers.Dense` and `Embedding`, also one that a custom layer
makes. The saved model could not be loaded then: the custom layer makes an exact one again.
"""

import keras


@keras.saving.register_keras_serializable("elmo_keras")
class Dense(keras.layers.Dense):
    pass


@keras.saving.register_keras_serializable("elmo_keras")
class Embedding(keras.layers.Embedding):
    pass
