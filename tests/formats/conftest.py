"""Models with random weights in each layout, and changes of their arrays."""

import dataclasses
import tarfile
import zipfile

import numpy as np
import pytest

from elmo_keras import Vocabulary
from elmo_keras.formats.model_directory import save_model
from tests.support import hub_modules
from tests.support.models import random_bilm
from tests.support.sizes import CONFIG
from tests.support.tf1_checkpoints import arrays, write_model

VOCABULARY = Vocabulary.count([["a", "b", "a"]])
TOKENS = [["a", "b", "unseen"]]


def zipped(path, files, folder="", **options):
    """Writes a zip of files, name → content, and returns its path."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in files.items():
            archive.writestr(folder + name, content)
    return path


def tarred(path, folder, name):
    """Writes a tar of a folder under a name, and returns its path."""
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, name)
    return path


def contents(folder):
    """Name → content of the files in a folder itself."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def assert_same(expected, actual):
    """Compares arrays, one after another."""
    for a, b in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(a, b)


def without(part):
    """Removes the arrays whose names, in a dictionary or HDF5 file, hold a part."""
    return lambda values: [values.pop(name) for name in [*values] if part in name]


def replaced(name, array):
    """Puts an array in the place of another."""

    def change(values):
        if name in values:
            del values[name]
        values[name] = array

    return change


def filled(name, place, value):
    """Sets some numbers of an array."""
    return lambda values: values[name].__setitem__(place, value)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder to which archives are unpacked."""
    monkeypatch.setenv("ELMO_KERAS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bilm(config):
    return random_bilm(config, len(VOCABULARY))


@pytest.fixture
def directory(bilm, tmp_path):
    save_model(tmp_path / "model", bilm, VOCABULARY, options={"n_train_tokens": 3})
    return tmp_path / "model"


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A directory as bilm-tf's training leaves it; no test changes it."""
    return write_model(tmp_path_factory.mktemp("trained"), arrays())


@pytest.fixture(scope="session")
def source():
    """A biLM in sizes that all differ, with what modules leave to be known."""
    config = CONFIG
    config = dataclasses.replace(config, max_characters_per_token=50, n_highway=2)
    return random_bilm(config)


@pytest.fixture(scope="session")
def module(source, tmp_path_factory):
    """The directory of a module with google's names; no test changes it."""
    directory = tmp_path_factory.mktemp("tfhub") / "0eadd30f"
    return hub_modules.write(directory, hub_modules.variables(source))
