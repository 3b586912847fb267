#!/usr/bin/env bash
# Keras 3.15.1: a quantised model with a layer of one's own is saved, and can't be loaded.
#
# One would guess: quantize refuses the layer, or the file says that its Dense is in int8.
# What happens: quantize goes into the layer and quantises the Dense in it; the config of the outer
# layer doesn't know. load_model builds a Dense in float32 and fails on its third variable.
# Why it matters: the model is lost if only the file is kept. Load what you saved before you delete
# the original, or quantise after loading.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 keras==3.15.1 <<'PY'
import keras
import numpy as np


@keras.saving.register_keras_serializable("example")
class Head(keras.layers.Layer):
    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.dense = keras.layers.Dense(2)

    def build(self, shape):
        self.dense.build(shape)

    def call(self, x):
        return self.dense(x)


inputs = keras.Input((16,))
model = keras.Model(inputs, Head()(inputs))
model.quantize("int8")
model.save("model.keras")
print("saved; the kernel is", model.layers[-1].dense.kernel.dtype)
try:
    keras.models.load_model("model.keras")
    message = "loads"
except ValueError as error:
    message = str(error)
print("load_model:", message[:60], "…")
assert "expected 2 variables, but received 3 variables" in message
PY
