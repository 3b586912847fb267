"""Published weights: names, shapes, reading and writing."""

import dataclasses
import json
from contextlib import nullcontext

import h5py
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel, Elmo, ElmoConfig
from elmo_keras.formats import variables
from elmo_keras.formats.hdf5 import open_hdf5
from elmo_keras.formats.model_directory import load_bilm, save_model
from elmo_keras.formats.published import digest
from elmo_keras.formats.variables import (
    array_of,
    assign,
    published_arrays,
    published_table,
)
from tests.support import tf1_checkpoints
from tests.support.dictionaries import dictionary_config
from tests.support.models import published_weights, random_bilm
from tests.support.sizes import CONFIG


def test_the_file_has_the_published_names_and_shapes(bilm, directory):
    with h5py.File(directory / "weights.hdf5", "a") as file:
        names = []
        file.visit(names.append)
        actual = {n: file[n].shape for n in names if isinstance(file[n], h5py.Dataset)}
        file["softmax/W"] = np.zeros(3)
        highway = bilm.token_representation.highways[0]
        for gate in ("carry", "transform"):
            for letter, part in ("W", "kernel"), ("b", "bias"):
                weight = getattr(highway, f"{gate}_{part}")
                np.testing.assert_array_equal(
                    file[f"CNN_high_0/{letter}_{gate}"], weight
                )
    load_bilm(directory)  # to which other datasets do no harm
    cell = {"W_0": (10, 28), "B": (28,), "W_P_0": (7, 5)}
    checkpoint_shapes = tf1_checkpoints.shapes()  # the names of cells differ
    expected = {n.removeprefix("lm/"): shape for n, shape in checkpoint_shapes.items()}
    expected = {n: s for n, s in expected.items() if n.startswith(("char", "CNN"))}
    for d in range(2):
        for j in range(2):
            lstm = f"RNN_{d}/RNN/MultiRNNCell/Cell{j}/LSTMCell"
            expected |= {f"{lstm}/{name}": shape for name, shape in cell.items()}
    assert actual == expected


def test_options_say_whether_equal_sizes_have_a_projection(config, tmp_path):
    config = dataclasses.replace(config, units=config.projection_dim)
    for projects in (False, True):
        bilm = random_bilm(dataclasses.replace(config, lstm_projection=projects))
        save_model(tmp_path, bilm)
        names = published_weights(bilm)
        assert any(name.endswith("W_P_0") for name in names) == projects
        loaded = load_bilm(tmp_path)
        for a, b in zip(loaded.get_weights(), bilm.get_weights(), strict=True):
            np.testing.assert_array_equal(a, b)
    path = tmp_path / "options.json"  # earlier versions did not have the key
    path.write_text(json.dumps(json.loads(path.read_text()) | {"elmo_keras": {}}))
    with pytest.raises(ValueError, match="W_P_0.*elmo_keras: {lstm_projection: true}"):
        load_bilm(tmp_path)


def test_a_projection_that_would_keep_the_size_is_the_identity(config, tmp_path):
    config = dataclasses.replace(config, projection_dim=9)
    bilm = random_bilm(config)
    save_model(tmp_path, bilm)
    assert "CNN_proj/W_proj" not in published_weights(bilm)
    with h5py.File(tmp_path / "weights.hdf5", "a") as file:
        np.testing.assert_array_equal(file["CNN_proj/W_proj"], np.eye(9))
    np.testing.assert_array_equal(
        load_bilm(tmp_path).get_weights()[0], bilm.get_weights()[0]
    )
    with h5py.File(tmp_path / "weights.hdf5", "a") as file:
        file["CNN_proj/W_proj"][0, 0] = 2
    with pytest.raises(ValueError, match="no projection where .* number of filters"):
        load_bilm(tmp_path)


def test_the_published_fixture_round_trips(data, tmp_path):
    options = data("fixtures/bilm-tf/options.json")
    weights = data("fixtures/bilm-tf/lm_weights.hdf5")
    bilm = Elmo.from_pretrained(options, weights=weights).bilm
    save_model(tmp_path, bilm)
    assert json.loads((tmp_path / "options.json").read_text()) == json.loads(
        options.read_text()
    )
    other = open_hdf5(tmp_path / "weights.hdf5").datasets
    for name, array in open_hdf5(weights).datasets.items():
        np.testing.assert_array_equal(array[...], other[name][...])


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        dictionary_config(),
        ElmoConfig(2048, 256, ((1, 2), (3, 5)), n_layers=1),  # in blocks
    ],
)
def test_arrays_have_the_digest_of_their_layer(config):
    bilm = random_bilm(config)
    assert digest(config, published_arrays(bilm)) == bilm.digest()


@pytest.mark.parametrize("strategy", [None, ["cpu:0", "cpu:1"]])
def test_large_weights_are_assigned_part_by_part(strategy, config, monkeypatch):
    bilm = random_bilm(config, 7)
    expected = [array_of(e) for e in published_table(bilm).values()]
    monkeypatch.setattr(variables, "VALUES_AT_ONCE", 11)
    scope = tf.distribute.MirroredStrategy(strategy).scope if strategy else nullcontext
    with scope():
        other = BidirectionalLanguageModel(config, vocabulary_size=7)
        other.build()
        for entry, array in zip(published_table(other).values(), expected, strict=True):
            assign(entry, array)
    for entry, array in zip(published_table(other).values(), expected, strict=True):
        np.testing.assert_array_equal(array_of(entry), array)
