"""Names of a model: a path, a published name or an address, in every command."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from elmo_keras import Elmo, Vocabulary, find_model, load_bilm
from elmo_keras.formats.keras_files import load_keras_model
from elmo_keras.hub import catalogue
from elmo_keras.hub.cache import model_folder, remove_model
from elmo_keras.hub.local_files import (
    absolute,
    local_files,
    model_title,
)
from elmo_keras.lite.lite_file import read_lite
from tests.hub.conftest import STORE


@pytest.mark.parametrize(
    ("model", "weights"),
    [
        ("SMALL", None),
        ("https://host/a", None),
        ("https://host/a/options.json", "https://host/a/weights.hdf5"),
    ],
)
def test_names_and_addresses_give_the_files_which_are_downloaded_once(
    model, weights, small, model_directory
):
    expected = load_bilm(model_directory)
    for _ in range(2):
        options = find_model(model, weights=weights).options
        assert options == find_model(model_directory).options
        bilm = Elmo.from_pretrained(model, weights=weights).bilm
        for weight, expected_weight in zip(bilm.weights, expected.weights, strict=True):
            np.testing.assert_array_equal(weight, expected_weight)
        assert len(small.requests) == 2


def test_a_model_of_the_package_needs_no_download(
    model_directory, tmp_path, monkeypatch, cache
):
    monkeypatch.setenv("ELMO_KERAS_OFFLINE", "1")
    monkeypatch.setattr(catalogue, "BOX", tmp_path)
    shutil.copytree(model_directory, tmp_path / "en")
    assert local_files("EN") == (tmp_path / "en", None)
    assert find_model("en").options == find_model(model_directory).options
    assert model_folder("en") == tmp_path / "en"
    with pytest.raises(ValueError, match="en is part of the package"):
        remove_model("en")
    assert (tmp_path / "en").exists() and not cache.exists()


def test_an_archive_is_handed_over_as_it_is(mirror, tmp_path, model_directory, cache):
    content = Path(shutil.make_archive(tmp_path / "a", "zip", model_directory))
    mirror.files["/vectors.nlpl.eu/repository/20/999.zip"] = content.read_bytes()
    assert local_files("nlpl:999") == (cache / "nlpl-999" / "999.zip", None)
    assert find_model("nlpl:999").options == find_model(model_directory).options


def test_a_published_checkpoint_of_bilm_tf_is_a_folder_with_its_vocabulary(mirror):
    stem = f"{STORE}/2x4096_512_2048cnn_2xhighway_tf_checkpoint"
    prefix = "model.ckpt-935588"
    mirror.files |= {
        f"{stem}/checkpoint": f'model_checkpoint_path: "/tmp/{prefix}"'.encode(),
        f"{stem}/options.json": b"{}",
        f"{stem}/{prefix}.index": b"index",
        f"{stem}/{prefix}.data-00000-of-00001": b"data",
        f"{STORE}/vocab-2016-09-10.txt": b"<S>\n</S>\n<UNK>\nthe\n",
    }
    with pytest.raises(ValueError, match=f"{prefix} should be a complete Tensor"):
        find_model("original_checkpoint")
    folder, _ = local_files("original_checkpoint")
    assert Vocabulary.load(folder / "vocab.txt").words[-1] == "the"


def test_a_path_comes_before_a_name(tmp_path, monkeypatch, small):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pubmed").mkdir()
    assert local_files("pubmed") == (Path("pubmed"), None)
    assert local_files(Path("small")) == (Path("small"), None)
    assert small.requests == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("orignal", "Did you mean original"),
        ("no/model.zip", "There is no no/model.zip. It is neither a path nor"),
        ("pt_brwac", "pt_brwac can't be downloaded: only the address of its options"),
    ],
)
def test_a_string_that_names_nothing_is_explained(name, message, mirror):
    with pytest.raises(FileNotFoundError, match=message):
        Elmo.from_pretrained(name)
    assert mirror.requests == []


@pytest.mark.parametrize("read", [find_model, load_keras_model, read_lite])
def test_pipes_and_devices_are_refused(read, tmp_path):
    os.mkfifo(tmp_path / "m")
    with pytest.raises(ValueError, match="should be a file or a folder. It is a pipe"):
        read(tmp_path / "m")


def test_files_that_differ_from_what_is_stated_and_wrong_mirrors_are_refused(
    mirror, model_directory, monkeypatch
):
    stem = f"{STORE}/2x4096_512_2048cnn_2xhighway/elmo_2x4096_512_2048cnn_2xhighway"
    for name in "options.json", "weights.hdf5":
        mirror.files[f"{stem}_{name}"] = (model_directory / name).read_bytes()
    with pytest.raises(ValueError, match="should have 374,434,792 bytes"):
        Elmo.from_pretrained("original")
    monkeypatch.setenv("ELMO_KERAS_MIRROR", "/local/folder")
    with pytest.raises(ValueError, match="ELMO_KERAS_MIRROR should start with https"):
        Elmo.from_pretrained("small")


@pytest.mark.parametrize(
    ("model", "title"),
    [
        ("LARGE", "5.5B"),
        ("nlpl:161", "nlpl-161"),
        ("models/en.zip", "en"),
        ("hf://owner/name", "hf-owner-name-81509db8"),
        ("circle", "circle"),
    ],
)
def test_a_title_is_fit_for_a_file_name(model, title, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("circle").symlink_to("circle")
    assert model_title(model) == title
    is_path = title in ("en", "circle")
    assert absolute(model) == (str(tmp_path / model) if is_path else model)
