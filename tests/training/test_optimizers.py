"""The optimizers of training, dense and by rows."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.training.optimizers import Muon, RowAdagrad, make_optimizer
from elmo_keras.training.options import OPTIMIZERS

RATE, ROWS = 0.3, [5, 0, 2]
NO_DECAY = {"weight_decay": None, "adam_weight_decay": None}
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(7, 3)).astype("float32")
GRADIENTS = RNG.normal(size=(4, 3, 3)).astype("float32")  # steps, rows, dim


def trained(optimizer, sparse):
    """The table after a few steps in which some rows have a gradient."""
    variable = keras.Variable(TABLE)
    optimizer.build([variable])

    for values in GRADIENTS:
        gradient = tf.IndexedSlices(values, tf.constant(ROWS), tf.constant([7, 3]))
        if not sparse:
            gradient = tf.convert_to_tensor(gradient)
        optimizer.apply([gradient], [variable])
    return variable.numpy()


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_adagrad_by_rows_is_adagrad_on_these_rows(epsilon):
    sparse = RowAdagrad(RATE, 1.5, epsilon)
    after = trained(sparse, sparse=True)
    expected, sums = TABLE[ROWS].astype("float64"), 1.5
    for gradient in GRADIENTS.astype("float64"):
        sums = sums + gradient**2
        expected -= RATE * gradient / (np.sqrt(sums) + epsilon)
    np.testing.assert_allclose(after[ROWS], expected, atol=1e-6)
    others = np.setdiff1d(range(7), ROWS)
    accumulator = sparse.variables[-1].numpy()
    assert after[others].tobytes() == TABLE[others].tobytes()
    assert (accumulator[others] == 1.5).all() and (accumulator[ROWS] > 1.5).all()


@pytest.mark.skipif(
    not hasattr(keras.optimizers, "Muon"), reason="Keras has no Muon yet"
)
@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (1, 1, 4, 9)])
def test_muon_updates_a_kernel_as_keras_muon_does(shape):
    values = RNG.normal(size=(4, *shape)).astype("float32")
    results = []
    for optimizer in (Muon(0.1), keras.optimizers.Muon(0.1, **NO_DECAY)):
        with keras.name_scope("projection"):
            ours = isinstance(optimizer, Muon)
            ones = np.ones(shape if ours else shape[-2:], "float32")
            kernel = keras.Variable(ones, name="kernel")
            other = keras.Variable(tf.ones(3), name="bias")
        optimizer.build([kernel, other])
        for gradient in values:
            gradient = np.reshape(gradient, kernel.shape)
            optimizer.apply([tf.constant(gradient), tf.ones(3)], [kernel, other])
        results.append([*kernel.numpy().flatten(), *other.numpy()])
    np.testing.assert_allclose(*results, atol=1e-5)
    assert max(results[0][-3:]) < 0.61  # Adam's steps have the size of the rate


def test_a_config_round_trip_keeps_everything():
    optimizer = RowAdagrad(0.7, 2.0, 0.25)
    serialized = keras.saving.serialize_keras_object(optimizer)
    again = keras.saving.deserialize_keras_object(serialized)
    assert type(again) is RowAdagrad and again.get_config() == optimizer.get_config()
    expected = trained(RowAdagrad(0.7, 2.0, 0.25), sparse=True)
    assert trained(again, sparse=True).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_every_optimizer_updates_by_rows_as_by_the_whole_table(name):
    sparse = trained(make_optimizer(name, 0.1), sparse=True)
    dense = trained(make_optimizer(name, 0.1), sparse=False)
    assert type(make_optimizer(name)).__name__.lower() in (name, f"row{name}")
    assert np.abs(dense - TABLE).max() > 0.01
    np.testing.assert_allclose(sparse, dense, atol=1e-6)  # rounding


@pytest.mark.parametrize(
    ("schedule", "n_steps", "expected"),  # at some steps, from 0
    [
        ("constant", 8, {0: 0.4, 4: 0.4, 8: 0.4}),
        ("linear", 8, {0: 0.4, 2: 0.3, 4: 0.2, 8: 0.0, 9: 0.0}),
        ("cosine", 8, {0: 0.4, 4: 0.2, 8: 0.0, 9: 0.0}),  # too short to rise first
        ("cosine", 20, {0: 0.0, 1: 0.2, 2: 0.4, 11: 0.2, 20: 0.0}),
        ("cosine", 30000, {250: 0.1, 500: 0.2, 1000: 0.4, 15500: 0.2, 30000: 0.0}),
    ],
)
def test_a_schedule_ends_at_0_and_cosine_rises_first(schedule, n_steps, expected):
    optimizer = make_optimizer("sgd", 0.4, schedule=schedule, n_steps=n_steps)
    for step, rate in expected.items():
        optimizer.iterations.assign(step)
        assert float(optimizer.learning_rate) == pytest.approx(rate, abs=1e-6)
