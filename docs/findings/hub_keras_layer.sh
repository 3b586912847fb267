#!/usr/bin/env bash
# tensorflow-hub 0.16.1, TensorFlow 2.21.0: hub.KerasLayer is no layer of tf.keras.
#
# One would guess: the layer of TensorFlow's own hub works in tf.keras, as in all its examples.
# What happens: since TensorFlow 2.16 tf.keras is Keras 3, and the hub's layer one of tf_keras:
# Sequential refuses it.
# Why it matters: every posted program with google/elmo stops there. Import tf_keras as keras, or set
# TF_USE_LEGACY_KERAS=1 before TensorFlow is imported.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 tf_keras==2.21.0 tensorflow-hub==0.16.1 'setuptools<81' <<'PY'
import tensorflow as tf
import tensorflow_hub as hub
import tf_keras


class Double(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None, 2))])
    def __call__(self, x):
        return 2 * x


tf.saved_model.save(Double(), "module")
try:
    tf.keras.Sequential([hub.KerasLayer("module")])
    message = "works"
except ValueError as error:
    message = str(error)
result = tf_keras.Sequential([hub.KerasLayer("module")])(tf.ones((1, 2))).numpy()
print("tf.keras:", message[:70], "…\ntf_keras:", result)
assert message.startswith("Only instances of `keras.Layer` can be added")
assert result.tolist() == [[2, 2]]
PY
