"""Published weights in and out, and the files of a model."""

import dataclasses
import json
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import tensorflow as tf
from conftest import published_weights, randomize

from elmo_keras import BidirectionalLanguageModel, Elmo, Vocabulary
from elmo_keras.model_directory import find_model, load_bilm, save_model

CELL = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell"
VOCABULARY = Vocabulary.count([["a", "b", "a"]])
TOKENS = tf.constant([["a", "b", "unseen"]])


@pytest.fixture
def bilm(config):
    bilm = BidirectionalLanguageModel(config, len(VOCABULARY))
    bilm.build()
    return randomize(bilm)


@pytest.fixture
def directory(bilm, tmp_path):
    save_model(tmp_path / "model", bilm, VOCABULARY, {"n_train_tokens": 3})
    return tmp_path / "model"


def test_the_file_has_the_published_names_and_shapes(directory):
    found = {}
    with h5py.File(directory / "weights.hdf5") as file:
        file.visititems(lambda name, x: found.update({name: getattr(x, "shape", None)}))
    found = {name: shape for name, shape in found.items() if shape is not None}
    cell = {"W_0": (10, 28), "B": (28,), "W_P_0": (7, 5)}
    expected = {"char_embed": (261, 3)}
    for i, (width, count) in enumerate([(1, 2), (2, 3), (3, 4)]):
        expected[f"CNN/W_cnn_{i}"] = (1, width, 3, count)
        expected[f"CNN/b_cnn_{i}"] = (count,)
    for name in ("carry", "transform"):
        expected[f"CNN_high_0/W_{name}"] = (9, 9)
        expected[f"CNN_high_0/b_{name}"] = (9,)
    expected |= {"CNN_proj/W_proj": (9, 5), "CNN_proj/b_proj": (5,)}
    for d in range(2):
        for j in range(2):
            lstm = f"RNN_{d}/RNN/MultiRNNCell/Cell{j}/LSTMCell"
            expected |= {f"{lstm}/{name}": shape for name, shape in cell.items()}
    assert found == expected


def test_a_model_directory_round_trip_keeps_every_weight(bilm, directory):
    loaded = load_bilm(directory)
    for a, b in zip(bilm.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert loaded.vocabulary_size == len(VOCABULARY)
    files = find_model(directory)
    assert files.vocabulary.words == VOCABULARY.words
    assert files.options["n_train_tokens"] == 3
    assert files.options["char_cnn"]["n_characters"] == 262
    assert sorted(p.name for p in directory.iterdir()) == [
        "options.json",
        "training",
        "vocab.txt",
        "weights.hdf5",
    ]


def test_directory_zip_and_paths_give_the_same_vectors(directory, tmp_path):
    expected = Elmo.from_pretrained(directory)(TOKENS)
    options, weights = directory / "options.json", directory / "weights.hdf5"
    np.testing.assert_array_equal(
        Elmo.from_pretrained(options, weights)(TOKENS), expected
    )
    # Names as in the archives of the NLPL repository.
    with zipfile.ZipFile(tmp_path / "999.zip", "w") as archive:
        archive.write(options, "options.json")
        archive.write(weights, "model.hdf5")
        archive.write(directory / "vocab.txt", "vocab.txt")
        archive.writestr("meta.json", "{}")
    np.testing.assert_array_equal(
        Elmo.from_pretrained(tmp_path / "999.zip")(TOKENS), expected
    )
    assert find_model(tmp_path / "999.zip").vocabulary.words == VOCABULARY.words


def test_a_zip_of_a_model_directory_can_be_read(directory, tmp_path):
    with zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
        for path in directory.rglob("*.*"):
            archive.write(path, Path("model") / path.relative_to(directory))
        archive.writestr("__MACOSX/model/._weights.hdf5", "not HDF5")
    expected = Elmo.from_pretrained(directory)(TOKENS)
    actual = Elmo.from_pretrained(tmp_path / "own.zip")(TOKENS)
    np.testing.assert_array_equal(actual, expected)
    content = (tmp_path / "own.zip").read_bytes()
    middle = len(content) // 2
    (tmp_path / "own.zip").write_bytes(
        content[:middle]
        + bytes(byte ^ 0xFF for byte in content[middle : middle + 64])
        + content[middle + 64 :]
    )
    with pytest.raises(ValueError, match="own.zip should be a whole zip"):
        find_model(tmp_path / "own.zip")


def test_vectors_need_no_readable_vocabulary(directory):
    (directory / "vocab.txt").write_text("one\ntwo\n")
    Elmo.from_pretrained(directory)
    with pytest.raises(ValueError, match="should start with <S>"):
        load_bilm(directory)


def test_a_projection_that_would_keep_the_size_is_the_identity(config, tmp_path):
    config = dataclasses.replace(config, projection_dim=9)
    bilm = BidirectionalLanguageModel(config)
    bilm.build()
    save_model(tmp_path, randomize(bilm))
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


def replaced(file, name, array):
    del file[name]
    file[name] = array


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: f.__delitem__("char_embed"), "should hold `char_embed` of shape"),
        (
            lambda f: replaced(f, f"{CELL}/W_0", np.zeros((10, 24))),
            r"`RNN_1.*W_0` should have the shape \[10, 28\] .* Found: \[10, 24\]",
        ),
        (
            lambda f: replaced(f, "char_embed", np.zeros((262, 3))),
            r"`char_embed` .* \[261, 3\] .* Found: \[262, 3\]",
        ),
        (
            lambda f: f.create_dataset(CELL.replace("Cell1", "Cell2") + "/B", (28,)),
            "hold .*Cell2.* which a biLM of these options doesn't have",
        ),
        (
            lambda f: f.create_dataset("CNN_high_1/W_carry", (9, 9)),
            "hold .*CNN_high_1/W_carry",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_and_nothing_is_changed(
    bilm, directory, damage, message
):
    from elmo_keras.weights import read_weights

    before = [np.copy(w) for w in bilm.get_weights()]
    with h5py.File(directory / "weights.hdf5", "a") as file:
        for name in ("char_embed", f"{CELL}/B"):
            file[name][...] = 7
        damage(file)
        with pytest.raises(ValueError, match=message):
            read_weights(bilm, file)
    for a, b in zip(before, bilm.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_other_datasets_in_the_file_do_no_harm(directory):
    with h5py.File(directory / "weights.hdf5", "a") as file:
        file["softmax/W"] = np.zeros(3)
    load_bilm(directory)


def test_missing_and_wrong_files_are_named(directory, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no .*nowhere"):
        find_model(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="a model directory or a .zip, or the path"):
        find_model(directory / "options.json")
    with pytest.raises(ValueError, match="the path of an options.json with"):
        find_model(directory, directory / "weights.hdf5")
    with pytest.raises(FileNotFoundError, match="no_weights"):
        Elmo.from_pretrained(directory / "options.json", tmp_path / "no_weights")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.write(directory / "options.json", "options.json")
    with pytest.raises(ValueError, match=r"should hold one file \*.hdf5. Found"):
        find_model(tmp_path / "two.zip")
    (directory / "weights.hdf5").write_text("no HDF5")
    with pytest.raises(ValueError, match="weights.hdf5 should be an HDF5 file"):
        load_bilm(directory)
    (directory / "weights.hdf5").unlink()
    with pytest.raises(FileNotFoundError, match="weights.hdf5"):
        load_bilm(directory)


def test_a_failed_save_leaves_the_model_that_was_there(bilm, directory, monkeypatch):
    before = {p: p.read_bytes() for p in directory.rglob("*.*")}

    def fails(*_):
        raise OSError("no space left")

    monkeypatch.setattr("elmo_keras.model_directory.write_weights", fails)
    with pytest.raises(OSError, match="no space left"):
        save_model(directory, randomize(bilm, seed=1), VOCABULARY)
    assert {p: p.read_bytes() for p in directory.rglob("*.*")} == before


def test_the_published_fixture_round_trips(data, tmp_path):
    options = data("fixtures/bilm-tf/options.json")
    weights = data("fixtures/bilm-tf/lm_weights.hdf5")
    bilm = Elmo.from_pretrained(options, weights).bilm
    save_model(tmp_path, bilm)
    assert json.loads((tmp_path / "options.json").read_text()) == json.loads(
        options.read_text()
    )
    with h5py.File(weights) as a, h5py.File(tmp_path / "weights.hdf5") as b:
        names = []
        a.visit(names.append)
        for name in names:
            if isinstance(a[name], h5py.Dataset):
                np.testing.assert_array_equal(a[name][...], b[name][...])
