"""Model directories and zips."""

import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras.elmo import model_digest
from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from tests.formats.conftest import VOCABULARY, assert_same, contents, zipped
from tests.support.models import randomize


def test_a_model_directory_round_trip_keeps_every_weight(bilm, directory):
    loaded = load_bilm(directory)
    assert_same(bilm.get_weights(), loaded.get_weights())
    assert loaded.vocabulary_size == len(VOCABULARY)
    files = find_model(directory)
    assert files.vocabulary.words == VOCABULARY.words
    assert files.options["n_train_tokens"] == 3
    assert files.options["char_cnn"]["n_characters"] == 262
    names = "options.json training vocab.txt weights.hdf5"
    assert sorted(p.name for p in directory.iterdir()) == names.split()


def test_directory_archives_and_paths_give_the_same_weights(directory, tmp_path):
    expected = model_digest(Elmo.from_pretrained(directory))
    options, weights = directory / "options.json", directory / "weights.hdf5"
    elmo = Elmo.from_pretrained(options, weights=weights)
    assert model_digest(elmo) == expected
    # Names as in the archives of the NLPL repository.
    files = contents(directory) | {"meta.json": "{}"}
    files["model.hdf5"] = files.pop("weights.hdf5")
    paths = [zipped(tmp_path / "999.zip", files)]
    for mode in ("w", "w:gz", "w:bz2"):
        paths.append(tmp_path / f"model.tar{mode[1:]}")
        with tarfile.open(paths[-1], mode) as archive:
            archive.add(directory, "model")
    paths.append(tmp_path / "own.zip")  # of all of a directory
    with zipfile.ZipFile(paths[-1], "w") as archive:
        for path in directory.rglob("*.*"):
            archive.write(path, Path("model") / path.relative_to(directory))
        archive.writestr("__MACOSX/model/._weights.hdf5", "not HDF5")
    for path in paths:
        assert model_digest(Elmo.from_pretrained(path)) == expected
        assert find_model(path).vocabulary.words == VOCABULARY.words
    content = np.frombuffer(path.read_bytes(), np.uint8).copy()
    content[len(content) // 2 :][:64] ^= 0xFF
    path.write_bytes(content.tobytes())
    with pytest.raises(ValueError, match="in .*own.zip can't be read"):
        find_model(path)


def test_options_of_other_weights_are_refused_before_anything_is_built(
    directory, monkeypatch
):
    path = directory / "options.json"
    options = json.loads(path.read_text())
    options["lstm"]["dim"] = 60_000
    path.write_text(json.dumps(options))

    def fails(*_, **__):
        raise AssertionError("Something was built.")

    monkeypatch.setattr("keras.layers.Layer.__init__", fails)
    for load in (Elmo.from_pretrained, load_bilm):
        with pytest.raises(ValueError, match=r"W_0` should have .*\[10, 240000\]"):
            load(directory)


def test_vectors_need_no_readable_vocabulary(directory):
    (directory / "vocab.txt").write_text("one\ntwo\n")
    Elmo.from_pretrained(directory)
    with pytest.raises(ValueError, match="should hold <S>"):
        load_bilm(directory)


def test_missing_and_wrong_files_are_named(directory, tmp_path):
    options, archive = directory / "options.json", tmp_path / "two.zip"
    zipped(archive, {"options.json": "{}"})
    for error, message, model, weights in [
        (FileNotFoundError, "There is no .*nowhere", tmp_path / "nowhere", None),
        (ValueError, "options.json should be a model directory, or", options, None),
        (ValueError, "give the path of their options.json", directory, options),
        (FileNotFoundError, "no_weights", options, tmp_path / "no_weights"),
        (FileNotFoundError, r"weights.hdf5 or one file \*.hdf5. Fou", archive, None),
    ]:
        with pytest.raises(error, match=message):
            Elmo.from_pretrained(model, weights=weights)
    (directory / "weights.hdf5").write_text("no HDF5")
    with pytest.raises(ValueError, match="weights.hdf5 should be an HDF5 file"):
        load_bilm(directory)
    (directory / "weights.hdf5").unlink()
    with pytest.raises(FileNotFoundError, match="weights.hdf5"):
        load_bilm(directory)


def test_a_failed_save_leaves_the_model_that_was_there(bilm, directory, monkeypatch):
    before = {p: p.read_bytes() for p in directory.rglob("*.*")}

    def fails(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("elmo_keras.formats.model_directory.write_weights", fails)
    with pytest.raises(OSError, match="no space left"):
        save_model(directory, randomize(bilm, seed=1), VOCABULARY)
    assert {p: p.read_bytes() for p in directory.rglob("*.*")} == before
