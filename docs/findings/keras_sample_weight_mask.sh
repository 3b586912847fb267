#!/usr/bin/env bash
# Keras 3.15.1: weights of rows meet a mask as weights of time steps.
#
# One would guess: fit(x, y, sample_weight=w) with a weight a row works for masked sequences as it
# does for others, where Keras stretches it over the steps.
# What happens: w of shape (batch,) is multiplied with the mask (batch, time) as it is. If the two
# sizes differ, that fails; if they are equal, the weights fall on time steps, without a word.
# Why it matters: a batch of 3 sentences of 3 tokens trains on the wrong ones, and the next batch
# raises. Give the weights the shape (batch, 1).
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 keras==3.15.1 <<'PY'
import keras
import numpy as np

x = np.ones((3, 3, 2), np.float32)
x[2, 1:] = 0  # masked
labels = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 0]])


def evaluate(rows, weights):
    inputs = keras.Input((3, 2))
    bias = keras.initializers.Constant([2.0, 0.0])  # says 0: label 0 costs little, 1 much
    dense = keras.layers.Dense(2, kernel_initializer="zeros", bias_initializer=bias)
    model = keras.Model(inputs, dense(keras.layers.Masking()(inputs)))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = x[:rows], labels[:rows], 3
    return model.evaluate(*data, sample_weight=np.array(weights), verbose=0)


flat, column = evaluate(3, [1.0, 0, 0]), evaluate(3, [[1.0], [0], [0]])
print("all weight on a row of label 0, its loss is 0.127 a step")
print(f"as (3,): {flat:.3f}   as (3, 1): {column:.3f}")
try:
    evaluate(2, [1.0, 1.0])
    message = "works"
except Exception as error:  # of TensorFlow, or of Keras where it traces first
    message = " ".join(str(error).split())
print("2 rows of 3 steps:", message[:90])
assert flat > 5 * column and ("Incompatible shapes" in message or "must be equal" in message)
PY
