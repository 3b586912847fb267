"""The bidirectional LSTM of the task models, against Keras' own; attention to real tokens."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.heads.encoder import FastBidirectional, soft_alignment
from elmo_keras.layers.recurrence import recurrence_graph
from tests.support.models import randomize
from tests.support.reference import softmax

UNITS, DIM = 3, 5
RNG = np.random.default_rng(0)
LENGTHS = {
    "a few rows, one of them empty": [3, 0, 5, 1],
    "rows that all have the same length": [16] * 2,
    "many rows": RNG.integers(0, 35, 35).tolist(),
    "no token": [0, 0],
}


def layers(dtype):
    """The layer, and Keras' with the same weights."""
    ours = FastBidirectional(UNITS, dtype=dtype)
    lstm = keras.layers.LSTM(UNITS, return_sequences=True, dtype=dtype)
    reference = keras.layers.Bidirectional(lstm, dtype=dtype)
    for layer in (ours, reference):
        layer.build((None, None, DIM))
    randomize(ours)
    reference.set_weights(ours.get_weights())
    return ours, reference


def batch(lengths, dtype="float32"):
    """Vectors with large numbers at padding, and their mask."""
    shape = len(lengths), max(lengths, default=0) + 1
    mask = np.arange(shape[1]) < np.reshape(lengths, (-1, 1))
    x = np.random.default_rng(1).normal(size=(*shape, DIM))
    return tf.constant(np.where(mask[..., None], x, 1e3), dtype), tf.constant(mask)


def results(layer, x, mask):
    """The output in training, and the gradient of a function of it."""
    variables = [w.value for w in layer.trainable_weights]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, mask=mask, training=True)
        score = tf.reduce_sum(tf.sin(3 * y + 1))
    return [y, *tape.gradient(score, [x, *variables])]


def assert_equal(some, others, tolerance):
    """Differences are small beside the largest number of each tensor."""
    for a, b in zip(some, others, strict=True):
        largest = np.abs(b).max(initial=1.0)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * largest)


@pytest.fixture(params=["CPU", "GPU"])
def device(request, monkeypatch):
    """The kind of device that the layer finds; checks what cuDNN would fail on."""
    checked = []

    def run(self, x, mask, training, *, original=FastBidirectional._run_keras):
        rows = mask.numpy()
        checked.append(rows)
        assert len(rows) and rows[:, 0].all() and rows.shape == x.shape[:2]
        assert not np.any(~rows[:, :-1] & rows[:, 1:])
        return original(self, x, mask, training)

    devices = {"CPU": [], "GPU": [], "TPU": []} | {request.param: [request.param]}
    monkeypatch.setattr(tf.config, "list_logical_devices", devices.get)
    monkeypatch.setattr(FastBidirectional, "_run_keras", run)
    yield request.param
    assert bool(checked) == (request.param == "GPU")


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_outputs_and_gradients_are_those_of_keras(lengths, device):
    dtype, tolerance = ("float64", 1e-14) if device == "CPU" else ("float32", 1e-6)
    ours, reference = layers(dtype)
    x, mask = batch(lengths, dtype)
    assert_equal(results(ours, x, mask), results(reference, x, mask), tolerance)


def test_a_batch_without_rows_has_no_gradient(device):
    x, mask = batch([])  # Keras' layer fails
    outputs = results(layers("float32")[0], x, mask)
    assert outputs[0].shape == (0, 1, 2 * UNITS)
    assert not any(np.any(y) for y in outputs)


@pytest.mark.parametrize("mask", [None, RNG.random((4, 7)) < 0.5], ids=["no", "any"])
def test_a_mask_may_be_missing_or_have_gaps(mask, device):
    ours, reference = layers("float32")
    x = tf.constant(RNG.normal(size=(4, 7, DIM)), tf.float32)
    assert_equal(results(ours, x, mask), results(reference, x, mask), 1e-6)


def test_one_graph_serves_batches_of_all_shapes():
    ours, _ = layers("float32")
    recurrence_graph.cache_clear()
    for lengths in LENGTHS.values():
        results(ours, *batch(lengths))
    assert recurrence_graph.cache_info().currsize == 1


@pytest.mark.parametrize("dtype, training", [("float32", 0), ("mixed_bfloat16", 1)])
def test_keras_own_layer_runs_outside_of_training_on_cpus(dtype, training):
    x, mask = batch([3, 1, 0])
    ours, reference = layers(dtype)
    actual = ours(x, mask=mask, training=bool(training))
    expected = reference(x, mask=mask, training=training)
    np.testing.assert_array_equal(actual, expected)


def test_a_layer_trained_in_a_graph_is_trained_outside_of_one_as_well():
    lstm = FastBidirectional(7)  # no other test has this size
    lstm.build((None, None, 4))
    x = tf.random.normal((2, 3, 4))

    def gradients():
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(lstm(x, training=True) ** 2)
        return tape.gradient(total, lstm.trainable_variables)

    in_graph = tf.function(gradients, autograph=False)()
    for expected, actual in zip(in_graph, gradients(), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_keys", [3, 1])
def test_each_query_gets_the_weighted_mean_of_the_real_keys(n_keys):
    lengths = np.minimum([3, 0, 2, 1], n_keys)
    mask = np.arange(n_keys) < lengths[:, None]
    keys = RNG.normal(size=(4, n_keys, DIM)).astype("float32")
    keys = np.where(mask[..., None], keys, 1e3 * np.sign(keys))
    queries = RNG.normal(size=(4, 2, DIM)).astype("float32")
    aligned = np.array(soft_alignment(queries, keys, mask))
    for i, n in enumerate(lengths):
        weights = softmax(queries[i] @ keys[i, :n].T) if n else np.zeros((2, 0))
        np.testing.assert_allclose(aligned[i], weights @ keys[i, :n], atol=1e-5)
