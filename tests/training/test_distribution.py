"""Strategies, and the errors of training that the arguments did not cause."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.commands.command import CommandFailed
from elmo_keras.train import failures_of_training
from elmo_keras.training import distribution
from elmo_keras.training.distribution import make_strategy


@pytest.mark.parametrize("config", ["{", "[]", '{"cluster": 3}'])
def test_a_bad_tf_config_is_refused(config, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match="TF_CONFIG should be JSON"):
        make_strategy()


GONE = tf.errors.UnavailableError(None, None, "gone")
FULL = OSError(28, "No space left on device", "temporary")


@pytest.mark.parametrize(
    ("error", "n", "expected", "message"),
    [
        (GONE, 1, tf.errors.UnavailableError, "gone"),
        (GONE, 2, CommandFailed, "^another worker is gone .Unava.*Error.. Start all"),
        (FULL, 1, CommandFailed, "No space left on device: 'temporary'. Older check"),
        (FloatingPointError("No."), 1, CommandFailed, "No. The model in m is the best"),
    ],
)
def test_an_error_says_what_is_left(error, n, expected, message, monkeypatch):
    monkeypatch.setattr(distribution, "n_workers", lambda strategy: n)
    with pytest.raises(expected, match=message), failures_of_training(None, Path("m")):
        raise error


@pytest.mark.parametrize("n_replicas", [1, 2])
def test_each_replica_gets_its_rows(n_replicas):
    strategy, rows = make_strategy(n_replicas), tf.reshape(tf.range(12.0), (4, 3))
    [scattered] = distribution.scatter_rows(strategy, [rows])
    shares = strategy.experimental_local_results(scattered)
    assert [x.shape[0] for x in shares] == [4 // n_replicas] * n_replicas
    np.testing.assert_array_equal(distribution.gather_rows(strategy, scattered), rows)
    assert distribution.n_workers(strategy) == 1 and not distribution.worker(strategy)


def test_arrays_are_summed_over_workers(monkeypatch):
    # Each replica acts as a worker's only one.
    monkeypatch.setattr(distribution, "n_workers", lambda strategy: 2)
    strategy = make_strategy(2)
    total = distribution.sum_over_workers(strategy, np.array([1.0, 5.0]))
    assert total.tolist() == [2.0, 10.0]
