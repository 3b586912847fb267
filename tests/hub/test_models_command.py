"""The command that lists, downloads and removes published models."""

import re
from pathlib import Path

import pytest

from elmo_keras import Vocabulary, load_bilm
from elmo_keras.base.files import only_process
from elmo_keras.commands.command import WRONG_INPUT
from elmo_keras.formats.model_directory import find_model, save_model
from elmo_keras.hub.cache import cache_folder
from tests.hub.conftest import STORE
from tests.support.commands import command
from tests.support.models import random_bilm

main = command("models")


@pytest.fixture
def run(capsys):
    """Runs the command; returns its status, output and errors."""

    def run(*arguments):
        status = main(arguments)
        return status, *capsys.readouterr()

    return run


def test_words_choose_rows(run):
    status, printed, _ = run()
    assert status == 0 and "nlpl" not in printed and "| en " in printed
    assert " others can be downloaded: elmo-keras models --all" in printed
    status, printed, _ = run("--all")
    assert status == 0 and "| nlpl:219 " in printed
    assert re.search(r"\| en-ner +\| English +\| entities: .* \|  +0.6 \|", printed)
    _, printed, _ = run("list", "KOREAN", "elmoformany")
    head, rule, row = printed.splitlines()
    expected = "| nlpl:161 | Korean | | ELMoForManyLangs | | | |"
    assert row.split() == expected.split()


def test_models_are_fetched_listed_and_removed(run, small, cache):
    folder = cache / "small"
    status, printed, errors = run("fetch", "small")
    assert (status, printed) == (0, f"small is in {folder}\n")
    assert f"_weights.hdf5 to {folder / 'weights.hdf5'}" in errors
    assert run("path", "small")[1] == f"{folder}\n"
    _, printed, _ = run("list", "small")
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert printed.splitlines()[2].split()[-2] == f"{size / 1e6:,.1f}"
    with only_process(folder, ""):
        assert run("remove", "small")[0] == WRONG_INPUT
    assert run("remove", "small")[:2] == (0, f"{folder} was removed.\n")
    assert not folder.exists()
    status, _, error = run("remove", "small")
    assert status == WRONG_INPUT and "not in the cache" in error
    run("fetch", "https://host/a")  # it is listed by its folder
    for name in "litert", "unpacked":
        (cache / name).mkdir()
        (cache / name / "a.tflite").write_bytes(b"no download")
    row = run("list")[1].splitlines()[-3]
    folder = row.split()[1]
    assert folder.startswith("host-a-")
    assert run("remove", folder)[0] == 0
    assert run("clean")[:2] == (0, "0.0 MB were removed.\n")
    assert [file.parent.name for file in cache.rglob("*.tflite")] == ["unpacked"]


def test_a_softmax_is_fetched_on_request(run, small, tmp_path, config):
    vocabulary = Vocabulary.count([["a", "model"]])
    save_model(tmp_path / "lm", random_bilm(config, len(vocabulary)), vocabulary)
    status, _, error = run("fetch", "small", "--softmax")
    assert status == WRONG_INPUT and "small has no softmax." in error
    size = "2x4096_512_2048cnn_2xhighway_5.5B"
    files = {
        f"elmo_{size}_options.json": "options.json",
        f"elmo_{size}_weights.hdf5": "weights.hdf5",
        f"elmo_{size}_softmax_weights.hdf5": "training/softmax.hdf5",
        "tf_checkpoint/vocab-enwiki-news-500000.txt": "vocab.txt",
    }
    for name, path in files.items():
        small.files[f"{STORE}/{size}/{name}"] = (tmp_path / "lm" / path).read_bytes()
    assert run("fetch", "large", "--softmax")[0] == 0
    assert load_bilm("5.5B").softmax is not None
    assert find_model("5.5B").vocabulary.words[-2:] == ("a", "model")


def test_the_cache_is_in_keras_folder_unless_it_is_set(run, monkeypatch):
    monkeypatch.setenv("ELMO_KERAS_CACHE", "~/models")
    assert run("path")[1] == f"{Path.home() / 'models'}\n"
    monkeypatch.delenv("ELMO_KERAS_CACHE")
    monkeypatch.setenv("KERAS_HOME", "/keras")
    assert cache_folder() == Path("/keras/elmo_keras")
    monkeypatch.delenv("KERAS_HOME")
    assert cache_folder() == Path.home() / ".keras/elmo_keras"
