"""Two logical CPUs for the tests with replicas, and the data that may be there."""

import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pytest
import tensorflow as tf

import elmo_keras
import train
from elmo_keras.distribution import make_strategy
from elmo_keras.layers import projected_lstm, recurrence
from elmo_keras.training_arguments import parser
from elmo_keras.weights import array_of, published_table

CPU = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    CPU, [tf.config.LogicalDeviceConfiguration()] * 2
)

# A doctest run would import the benchmarks, and so the other systems they need.
collect_ignore = ["benchmarks"]

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("ELMO_KERAS_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture
def data():
    """Path of a file of the real data, or a skip that says what is missing."""

    def path(name):
        if not (DATA / name).exists():
            pytest.skip(f"needs {name} below ELMO_KERAS_DATA, which is {DATA}")
        return DATA / name

    return path


@pytest.fixture
def config():
    return elmo_keras.ElmoConfig.preset("test")


@pytest.fixture(scope="session")
def exported_elmo():
    """The layer of `exported_version`."""
    from exported import elmo_layer  # which needs this file

    return elmo_layer(layer_norm=True, dropout=0.5, l2=0.25)


@pytest.fixture(scope="session")
def exported_version(exported_elmo, tmp_path_factory):
    """One export for all tests that change nothing of it."""
    from export.version_directory import export_elmo

    return export_elmo(exported_elmo, tmp_path_factory.mktemp("exports"))


@pytest.fixture
def check(exported_elmo, capsys):
    """Compares the vectors of `SENTENCES` with the layer's, and tells how far off."""

    from exported import expected  # which needs this file

    def compare(name, vectors, output="elmo"):
        wanted = expected(exported_elmo)[output].numpy()
        assert np.shape(vectors) == wanted.shape
        difference = np.abs(vectors - wanted).max()
        with capsys.disabled():
            print(f"\n{name}: largest difference to the layer {difference:.1e}")
        assert difference < 1e-6

    return compare


@pytest.fixture
def tokens_at_once(monkeypatch):
    """Sets how many tokens of an LSTM with so many units go through one product."""

    def set_to(tokens, units):
        monkeypatch.setattr(recurrence, "PIECE_SIZE", tokens * 4 * units)
        projected_lstm.recurrence_graph.cache_clear()

    yield set_to
    projected_lstm.recurrence_graph.cache_clear()


def prepared_run(arguments):
    """What the training program makes of its arguments before it starts."""
    arguments = parser("").parse_args(arguments)
    strategy = make_strategy(arguments.replicas)
    inputs = train.read(arguments, strategy)
    streams = train.make_streams(arguments, inputs, strategy)
    return train.make_run(arguments, inputs, streams, strategy)


def randomize(layer, seed=0, scale=0.5):
    """Gives every weight random values, biases too, so that each one matters."""
    rng = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape) * scale)
    return layer


def published_weights(bilm):
    """The weights of a biLM as NumPy arrays by published names."""
    return {
        name: array_of(entry).astype("float64")
        for name, entry in published_table(bilm).items()
    }
