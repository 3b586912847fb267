"""Random weights for the models under test."""

import numpy as np

from elmo_keras.model_files.published import array_of, published_table


def randomize(layer, seed=0, scale=0.5):
    """Sets every weight to random values, biases too, so that each one matters."""
    rng = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape) * scale)
    return layer


def published_weights(bilm):
    return {
        name: array_of(entry).astype("float64")
        for name, entry in published_table(bilm).items()
    }
