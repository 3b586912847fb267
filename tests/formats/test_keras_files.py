"""Saved Keras models that were damaged or made to harm."""

import io
import zipfile

import h5py
import keras
import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras.formats.keras_files import load_keras_model
from tests.formats.conftest import assert_same, zipped

WEIGHTS, CONFIG = "model.weights.h5", "config.json"


@pytest.fixture
def saved(config, tmp_path):
    """The path of a saved model."""
    tokens = keras.Input((None,), dtype="string")
    keras.Model(tokens, Elmo(config)(tokens)).save(tmp_path / "model.keras")
    return tmp_path / "model.keras"


def change(path, name, edit):
    """Replaces a file in a zip by what `edit` makes of its content; None removes it."""
    with zipfile.ZipFile(path) as archive:
        files = {n: archive.read(n) for n in archive.namelist()}
    files[name] = edit(files[name])
    zipped(path, {n: c for n, c in files.items() if c is not None})


def with_nan(content):
    """Fills the first array of an HDF5 file."""
    target, names = io.BytesIO(content), []
    with h5py.File(target, "a") as file:
        file.visit(names.append)
        next(x for x in map(file.get, names) if getattr(x, "shape", ()))[...] = np.nan
    return target.getvalue()


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        (WEIGHTS, lambda c: c[: len(c) // 2], "should be a sound Keras model"),
        (WEIGHTS, lambda c: None, "should be a sound Keras model"),
        (WEIGHTS, with_nan, "should hold finite numbers. Found: nan at"),
        (CONFIG, lambda c: b"[" * 100_000, "should be a sound Keras model"),
    ],
)
def test_what_is_sound_is_loaded_and_all_else_refused(saved, name, edit, message):
    if edit is with_nan:
        expected = keras.models.load_model(saved).get_weights()
        assert_same(expected, load_keras_model(saved).get_weights())
    change(saved, name, edit)
    with pytest.raises(ValueError, match=message) as error:
        load_keras_model(saved)
    assert str(saved) in str(error.value) or "finite" in message
