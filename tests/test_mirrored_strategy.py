"""Keras' own fit on two logical devices, GPUs if there is one, with strings."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, MirroredStrategy
from tests.support.models import DEVICES
from tests.support.sizes import CONFIG

# Each half of a batch has as many tokens: a replica's loss is the mean over its own.
TOKENS = [["a", "b", "c"], ["d"], ["한국어"], ["e", "", "naïve"]]
TAGS = [[0, 1, 2], [1, 0, 0], [2, 0, 0], [2, 1, 0]]
PADDED = tf.ragged.constant(TOKENS).to_tensor()
STRINGS = tf.data.Dataset.from_tensor_slices((PADDED, TAGS)).batch(4).repeat(3)


def string_model(entry=((None,), "string")):
    entry = keras.Input(entry[0], dtype=entry[1])
    layers = [Elmo(CONFIG, l2=0.01), keras.layers.Dense(3, activation="softmax")]
    model = keras.Sequential([entry, *layers])
    loss = "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.SGD(0.1), loss, weighted_metrics=["accuracy"])
    return model


@pytest.mark.journey  # Keras traces fit, evaluate and predict for each strategy
def test_two_replicas_fit_strings_as_one_does(unoptimized_graphs):
    models = []
    one_device = tf.distribute.OneDeviceStrategy(DEVICES[0])
    for strategy in one_device, MirroredStrategy(DEVICES):
        keras.utils.set_random_seed(0)
        with strategy.scope():
            model = string_model()
        before = [np.copy(w) for w in model.get_weights()]
        model.fit(STRINGS, epochs=2, shuffle=False, verbose=0)
        models.append(model)
    one, two = (model.get_weights() for model in models)
    assert sum(not np.array_equal(*pair) for pair in zip(before, one)) >= 3
    for a, b in zip(one, two, strict=True):
        # The sum of two float32 means, against the mean of all.
        np.testing.assert_allclose(a, b, rtol=0, atol=1.2e-7)
    evaluated = [model.evaluate(STRINGS, verbose=0) for model in models]
    np.testing.assert_allclose(*evaluated, rtol=1e-5)
    predicted = [model.predict(STRINGS, verbose=0) for model in models]
    np.testing.assert_allclose(*predicted, atol=1e-6)


def test_a_model_of_strings_is_warned_of_other_strategies():
    reduction = tf.distribute.ReductionToOneDevice()
    with tf.distribute.MirroredStrategy(DEVICES, reduction).scope():
        with pytest.warns(UserWarning, match="AddN.* `elmo_keras.MirroredStrategy`"):
            model = string_model()
        string_model(entry=((None, 9), "int32"))  # no warning for characters
    with pytest.raises(tf.errors.InvalidArgumentError, match="AddN"):
        model.fit(STRINGS, shuffle=False, verbose=0)


def values(strategy, *tensors):
    return strategy.experimental_distribute_values_from_function(
        lambda context: tensors[context.replica_id_in_sync_group]
    )


@pytest.mark.parametrize(
    "tensors",
    [
        (tf.constant(["a"]), tf.constant(["b"])),
        (tf.constant([1.0, 2.0]), tf.constant([3.0])),
        (tf.ragged.constant([["a"], []]), tf.ragged.constant([["b"]])),
    ],
    ids=["strings", "shapes", "ragged"],
)
def test_the_mean_of_what_has_none_is_the_first_part(tensors):
    strategy = MirroredStrategy(DEVICES)
    mean = strategy.reduce("MEAN", (values(strategy, *tensors),), axis=None)[0]
    assert type(mean) is type(tensors[0])
    assert str(mean) == str(tensors[0])
    numbers = values(strategy, tf.constant([1.0, 2.0]), tf.constant([3.0, 8.0]))
    for operation, expected in ("mean", [2, 5]), ("SUM", [4, 10]):  # as TensorFlow's
        result = strategy.reduce(operation, numbers, axis=None)
        np.testing.assert_array_equal(result, expected)
