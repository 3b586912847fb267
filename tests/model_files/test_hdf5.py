"""HDF5 files: errors that say what is wrong, and files that are written whole."""

import hashlib

import numpy as np
import pytest

from elmo_keras.model_files.hdf5 import new_hdf5, open_hdf5


def test_all_datasets_are_found_in_groups_too(tmp_path):
    with new_hdf5(tmp_path / "file") as file:
        file["a"], file["b/c/d"] = np.arange(3), np.zeros((2, 5))
    datasets = open_hdf5(tmp_path / "file").datasets
    shapes = {name: array.shape for name, array in datasets.items()}
    assert shapes == {"a": (3,), "b/c/d": (2, 5)}


def test_the_checksum_is_that_of_the_content(tmp_path):
    with new_hdf5(tmp_path / "file", 512) as file:
        file["a"] = np.arange(3)
    content = (tmp_path / "file").read_bytes()
    assert content[:32] == hashlib.sha256(content[512:]).digest()


def test_a_file_whose_writing_fails_does_not_appear(tmp_path):
    with pytest.raises(KeyError), new_hdf5(tmp_path / "file"):
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_a_missing_file_and_another_format_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file .*none"):
        open_hdf5(tmp_path / "none")
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="text should be an HDF5 file"):
        open_hdf5(tmp_path / "text")
