#!/usr/bin/env bash
# TensorFlow 2.21.0: a convolution of a batch without rows returns its input's shape.
#
# One would guess: 0 rows of the shape that other batches get, here (0, 4, 8).
# What happens: tf.nn.conv1d returns (0, 5, 3), the shape of the input, also in tf.function, where
# its own static shape says (None, 4, 8). In Keras, Conv1D then fails when it adds the bias.
# Why it matters: a batch of words is empty where a request or a sentence has none. Matrix products
# of such batches work: cut windows and multiply, or skip the batch.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 keras==3.15.1 <<'PY'
import keras
import tensorflow as tf

kernel = tf.ones((2, 3, 8))


@tf.function(input_signature=[tf.TensorSpec((None, 5, 3))])
def convolve(x):
    return tf.nn.conv1d(x, kernel, 1, "VALID")


static = tuple(convolve.get_concrete_function().output_shapes)
shapes = [tuple(convolve(tf.zeros((n, 5, 3))).shape) for n in (1, 0)]
print("promised:", static, "one row:", shapes[0], "no row:", shapes[1])
try:
    keras.layers.Conv1D(8, 2)(tf.zeros((0, 5, 3)))
    message = "works"
except tf.errors.InvalidArgumentError as error:
    message = next(line for line in str(error).split("\n") if "Incompatible" in line)
print("Conv1D of Keras:", message)
assert static == (None, 4, 8) and shapes == [(1, 4, 8), (0, 5, 3)]
assert "Incompatible shapes" in message
PY
