"""Random weights for the models under test."""

import numpy as np
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel
from elmo_keras.formats.variables import published_arrays

_KIND = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
DEVICES = [f"{_KIND}:0", f"{_KIND}:1"]


def randomize(layer, seed=0, scale=0.5):
    """Sets every weight to random values, biases too, so that each one matters."""
    rng = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape) * scale)
    return layer


def random_bilm(config, vocabulary_size=None, *, seed=0, **kwargs):
    """A biLM of these arguments with random weights."""
    bilm = BidirectionalLanguageModel(config, vocabulary_size=vocabulary_size, **kwargs)
    bilm.build()
    return randomize(bilm, seed=seed)


def published_weights(bilm):
    arrays = published_arrays(bilm)
    return {name: array.astype("float64") for name, array in arrays.items()}


def convert_layer(elmo, path, arithmetic="int8", **options):
    """Writes an `Elmo` layer as a file for LiteRT."""
    from elmo_keras.lite.convert import convert
    from elmo_keras.lite.lite_file import write_lite

    mix, arrays = elmo.mixes[0].values(), published_arrays(elmo.bilm)
    file = convert(elmo.config, arrays, arithmetic, mix=mix, **options)
    write_lite(path, file)
    return file.metadata["cosines"]


def built(layer, dim):
    """The layer, built for inputs of this size, with random weights."""
    layer.build((None, None, dim))
    return randomize(layer)


def assert_all_close(actual, expected, atol=1e-6):
    """Compares arrays one by one; sums may have been added up in another order."""
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, atol=atol)


def with_gradients(run, watched):
    """The results of `run`, and the gradients of a function of all of them, as a list."""
    with tf.GradientTape() as tape:
        tape.watch(watched)
        results = tf.nest.flatten(run())
        wide = [x if x.dtype == tf.float64 else tf.cast(x, tf.float32) for x in results]
        score = tf.add_n([tf.reduce_sum(tf.sin(x)) for x in wide])
    gradients = tape.gradient(score, watched)
    return [*results, *map(tf.convert_to_tensor, gradients)]
