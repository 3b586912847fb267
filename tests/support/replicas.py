"""Keras models that are fitted on one device, or on two: GPUs if there is one."""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

_KIND = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
DEVICES = [f"{_KIND}:0", f"{_KIND}:1"]


def fitted(
    strategy: tf.distribute.Strategy,
    make_model: Callable[[], keras.Model],
    dataset: tf.data.Dataset,
) -> tuple[keras.Model, list[np.ndarray]]:
    """A compiled model that was made in a strategy's scope and fitted for two epochs.

    Also returns its first weights.
    """
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = make_model()
    before = [np.copy(w) for w in model.get_weights()]
    model.fit(dataset, epochs=2, shuffle=False, verbose=0)
    return model, before


def check_like_one_replica(two, one, before, dataset) -> float:
    """Compares weights, `evaluate` and `predict`; returns the weights' difference."""
    weights = list(zip(before, one.get_weights(), two.get_weights(), strict=True))
    assert sum(not np.array_equal(first, a) for first, a, _ in weights) >= 3
    worst = max(np.abs(a - b).max() for _, a, b in weights)
    # The sum of two float32 means, against the mean of all.
    assert worst <= 1.2e-7
    evaluated = [model.evaluate(dataset, verbose=0) for model in (two, one)]
    np.testing.assert_allclose(*evaluated, rtol=1e-5)
    predicted = [model.predict(dataset, verbose=0) for model in (two, one)]
    np.testing.assert_allclose(*predicted, atol=1e-6)
    return worst
