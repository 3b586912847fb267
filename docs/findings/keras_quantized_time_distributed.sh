#!/usr/bin/env bash
# Keras 3.15.1: after model.quantize("int8"), TimeDistributed(Dense) multiplies by raw integers.
#
# One would guess: outputs within 1 or 2 % of those before, as of a Dense alone.
# What happens: the wrapper's call uses the int8 kernel as it is, without its scales: values are
# hundreds of times too large.
# Why it matters: nothing fails, and Dense alone does the same over time and is quantised right:
# leave TimeDistributed away.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 keras==3.15.1 <<'PY'
import keras
import numpy as np

x = np.random.default_rng(0).normal(size=(8, 4, 16)).astype(np.float32)
errors = {}
for wrap in (lambda layer: layer, keras.layers.TimeDistributed):
    inputs = keras.Input((4, 16))
    layer = wrap(keras.layers.Dense(8))
    model = keras.Model(inputs, layer(inputs))
    before = model(x).numpy()
    model.quantize("int8")
    error = np.abs(model(x).numpy() - before).max() / np.abs(before).max()
    errors[type(layer).__name__] = error
print("largest error to largest value:", errors)
assert errors["Dense"] < 0.05 and errors["TimeDistributed"] > 10
PY
