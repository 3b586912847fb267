"""Model directories and zips: their weights, their mix, and the files that are theirs."""

import json
import os
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from elmo_keras.formats.model_files import Mix
from elmo_keras.hub.catalogue import PARTS, files_of_vectors, parts_of_model
from elmo_keras.layers import ScalarMix
from elmo_keras.training.report import CARD, CURVES
from tests.formats.conftest import VOCABULARY, assert_same, contents, zipped
from tests.support import hub_modules
from tests.support.many_langs_models import model_files, write_files
from tests.support.models import randomize
from tests.support.tf1_checkpoints import arrays, write_model


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
    expected = Elmo.from_pretrained(directory).bilm.digest()
    options, weights = directory / "options.json", directory / "weights.hdf5"
    elmo = Elmo.from_pretrained(options, weights=weights)
    assert elmo.bilm.digest() == expected
    # Names as in the archives of the NLPL repository.
    files = contents(directory) | {"meta.json": "{}"}
    files["model.hdf5"] = files.pop("weights.hdf5")
    paths = [zipped(tmp_path / "999.zip", files)]
    for mode in ("w", "w:bz2"):
        paths.append(tmp_path / f"model.tar{mode[1:]}")
        with tarfile.open(paths[-1], mode) as archive:
            archive.add(directory, "model")
    for path in paths:
        assert Elmo.from_pretrained(path).bilm.digest() == expected
        assert find_model(path).vocabulary.words == VOCABULARY.words


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
    (directory / "vocab.txt").write_text("<S>\n</S>\n<UNK>\nother\nwords\n")
    with pytest.raises(ValueError, match="vocab.txt is not the one"):
        load_bilm(directory)


def test_missing_and_wrong_files_are_named(directory, tmp_path):
    options, archive = directory / "options.json", tmp_path / "two.zip"
    zipped(archive, {"options.json": "{}"})
    for error, message, model, weights in [
        (FileNotFoundError, "There is no .*nowhere", tmp_path / "nowhere", None),
        (FileNotFoundError, "no_weights", options, tmp_path / "no_weights"),
        (FileNotFoundError, r"weights.hdf5 or one file \*.hdf5. Fou", archive, None),
    ]:
        with pytest.raises(error, match=message):
            Elmo.from_pretrained(model, weights=weights)
    (directory / "weights.hdf5").unlink()
    with pytest.raises(FileNotFoundError, match="weights.hdf5"):
        load_bilm(directory)


def test_a_failed_save_leaves_the_model_that_was_there(bilm, directory, monkeypatch):
    before = {p: p.read_bytes() for p in directory.rglob("*.*")}

    def fails(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("elmo_keras.formats.variables.write_weights", fails)
    with pytest.raises(OSError, match="no space left"):
        save_model(directory, randomize(bilm, seed=1), VOCABULARY)
    assert {p: p.read_bytes() for p in directory.rglob("*.*")} == before


def test_a_mix_is_kept_bit_for_bit_beside_the_same_files(bilm, directory):
    mix = ScalarMix(mix=[0.1, -2.3, 7.0], gamma=0.7)
    mix.build([(None, None, 5)] * 3)
    plain = contents(directory)
    options = {"n_train_tokens": 3}
    save_model(directory, bilm, VOCABULARY, mix=mix, options=options)
    full = contents(directory)
    assert full.keys() - plain.keys() == {"mix.json"} and plain.items() <= full.items()
    for path in directory, zipped(directory.with_name("m.zip"), full):
        [read] = Elmo.from_pretrained(path).mixes
        assert_same([read.scalars, read.gamma], [mix.scalars, mix.gamma])
    new = Elmo.from_pretrained(directory, mix=[0, 0, 0]).mixes[0]
    assert not np.any(new.scalars) and float(new.gamma) == 1
    for content, message in [
        ('{"scalars": [1, 2, 3]}', "a finite `gamma`"),
        ('{"scalars": [1, 2], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, NaN], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, 3], "gamma": 1e39}', "a finite `gamma`"),
    ]:
        (directory / "mix.json").write_text(content)
        with pytest.raises(ValueError, match=f"mix.json should hold .*{message}"):
            Elmo.from_pretrained(directory)
    save_model(directory, bilm, VOCABULARY)  # of weights without it
    assert find_model(directory).mix is None
    with pytest.raises(ValueError, match="layers='mix'`. Received: 'average'"):
        save_model(directory / "other", bilm, mix=ScalarMix("average"))
    assert not (directory / "other").exists()


THEIRS = "checkpoint elmo_options.json elmo_weights.hdf5 model.ckpt-7.data-00000-of-1"
THEIRS += " model.ckpt-7.index vocab.txt"
PREFIX = "[m].data-0 [m].index options.json vocab.txt"


@pytest.mark.parametrize(
    ("files", "model", "expected"),
    [
        ("options.json weights.hdf5 vectors.hdf5 results.json", "", " ".join(PARTS)),
        (f"{THEIRS} results.json baseline-1.keras text.npy tag/x.hdf5", "", THEIRS),
        ("m.zip wrong.npy options.json", "m.zip", "m.zip"),
        (f"{PREFIX} m.zip m.index", "[m]", PREFIX),
    ],
)
def test_the_files_of_a_model_which_no_output_replaces(
    tmp_path, files, model, expected
):
    assert {CARD, CURVES} <= {*PARTS}
    for name in files.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    parts = parts_of_model(str(tmp_path / model))
    assert sorted(str(p.relative_to(tmp_path)) for p in parts) == sorted(
        expected.split()
    )


@pytest.fixture(scope="module")
def opened():
    """The paths of files that Python opens; TensorFlow reads checkpoints by itself."""
    paths = set()

    def note(event, arguments):
        if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
            paths.add(Path(arguments[0]))

    sys.addaudithook(note)
    return paths


@pytest.mark.parametrize(
    "layout", ["ours", "theirs", "words", "options", "many", "tf1", "hub"]
)
def test_a_change_of_any_file_that_vectors_follow_from_is_noticed(
    layout, opened, bilm, tmp_path
):
    folder, weights, unread = tmp_path / "other", None, set()
    if layout in ("ours", "theirs", "options"):
        save_model(folder, bilm, VOCABULARY, mix=Mix((0.0, 1.0, 2.0), 1.0))
        unread = {"vocab.txt", "mix.json", "training/softmax.hdf5"}
        for name in ("options.json", "weights.hdf5") if layout == "theirs" else ():
            (folder / name).rename(folder / f"elmo_{name}")
    elif layout == "many":
        write_files(folder, model_files())
    elif layout == "words":
        write_files(tmp_path / "theirs", model_files())
        save_model(folder, load_bilm(tmp_path / "theirs"))
    elif layout == "tf1":
        write_model(folder, arrays())
    else:
        hub_modules.write(folder, hub_modules.variables(bilm))
    model = folder
    if layout == "options":
        model, weights = folder / "options.json", folder / "weights.hdf5"
    opened.clear()
    files = find_model(model, weights=weights)
    for dataset in files.datasets.values():
        dataset[...]
    listed = {*files_of_vectors(model, weights)}
    assert {path for path in opened if folder in path.parents} <= listed
    everything = {path for path in folder.rglob("*") if path.is_file()}
    assert everything - listed <= {folder / name for name in unread}
