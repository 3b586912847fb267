"""Models whose matrices take one byte a number."""

import h5py
import numpy as np
import pytest

from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from elmo_keras.formats.variables import array_of, published_table, softmax_table
from tests.formats.conftest import VOCABULARY, replaced
from tests.support.commands import command

main = command("export")


def test_export_packs_a_model_with_all_that_comes_with_it(directory, tmp_path):
    packed = tmp_path / "packed"
    assert main([str(directory), str(packed), "--format", "packed"]) == 0
    files = find_model(packed)
    assert files.vocabulary.words == VOCABULARY.words
    assert files.options == find_model(directory).options
    expected, actual = load_bilm(directory), load_bilm(packed)
    tables = [published_table(b) | softmax_table(b) for b in (expected, actual)]
    with h5py.File(packed / "weights.hdf5") as file:
        assert file["CNN_proj/W_proj"].dtype == np.int8
    for name, entry in tables[0].items():
        exact, read = array_of(entry), array_of(tables[1][name])
        if exact.ndim == 1 or name == "char_embed":
            np.testing.assert_array_equal(read, exact)
            continue
        # Rounded to 1/127 of the largest value of an output: a column, of the inputs'
        # and of the recurrent weights, or a row of the softmax.
        parts = len(entry.variables)
        by_row = exact.reshape(len(exact), 1, -1)
        wide = exact.reshape(parts, -1, exact.shape[-1])
        wide, axis = (by_row, 2) if name == "softmax/W" else (wide, 1)
        step = np.abs(wide).max(axis, keepdims=True) / 127
        error = np.abs(read.reshape(wide.shape) - wide)
        assert error.max() > 0
        assert (error <= step * 0.5001).all()
    # A packed model is packed again without a change.
    save_model(tmp_path / "again", actual, files.vocabulary, packed=True)
    assert load_bilm(tmp_path / "again").count_params() == actual.count_params()
    for a, b in zip(load_bilm(tmp_path / "again").get_weights(), actual.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_scales_that_do_not_fit_are_refused(bilm, tmp_path):
    save_model(tmp_path, bilm, packed=True)
    with h5py.File(tmp_path / "weights.hdf5", "a") as file:
        replaced("scales/CNN_proj/W_proj", np.ones(3))(file)
    with pytest.raises(ValueError, match="`CNN_proj/W_proj` .* should have numbers"):
        load_bilm(tmp_path)
