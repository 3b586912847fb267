"""A model directory belongs to one process, and a new one does not stay empty."""

import dataclasses
import os
from pathlib import Path

import pytest

from elmo_keras.training.options import RunSettings, TextData
from elmo_keras.training.output import check_output, has_model, reserved
from elmo_keras.training.run import CHECKPOINTS


def test_a_new_directory_without_a_result_is_removed(tmp_path):
    output = tmp_path / "a" / "model"
    with pytest.raises(OSError, match="disk"), reserved(output, lock=True):
        assert (output / "training" / "lock").exists()
        raise OSError("disk")
    assert not output.exists()


@pytest.mark.parametrize("kept", ["options.json", f"{CHECKPOINTS}/checkpoint-1.hdf5"])
def test_a_model_or_a_checkpoint_is_kept(tmp_path, kept):
    output = tmp_path / "model"
    with reserved(output, lock=True):
        (output / kept).parent.mkdir(parents=True, exist_ok=True)
        (output / kept).touch()
    assert (output / kept).exists()
    assert has_model(output) == (kept == "options.json")


def test_others_are_let_in_without_the_lock_and_an_old_directory_stays(tmp_path):
    with reserved(tmp_path, lock=False):
        pass
    assert tmp_path.exists() and not list(tmp_path.iterdir())
    with (
        reserved(tmp_path, lock=True),
        reserved(tmp_path, lock=False),
        pytest.raises(ValueError, match="Another process is training in"),
        reserved(tmp_path, lock=True),
    ):
        pass


@pytest.fixture
def user(tmp_path, monkeypatch):
    """The current folder, with texts and a model directory `old`."""
    monkeypatch.chdir(tmp_path)
    for name in "a.txt b.txt old/options.json old/weights.hdf5 old/vocab.txt".split():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("output", "inputs", "problem"),
    [
        ("a.txt", {}, "a.txt should be a folder, but is none"),
        ("a.txt/model", {}, "a.txt should be a folder for a.txt/model"),
        ("/proc", {}, "Nothing can be written to the folder /proc"),
        ("taken", {}, "taken/curves.png should be a file, but is a folder"),
        ("old", {"init": "old"}, "is an input"),
        ("link", {"init": "old"}, "is an input; it is the same file as old"),
        ("other", {"init": "other/o.json", "weights": "other/weights.hdf5"},
         "The output other/weights.hdf5 is an input"),
        ("hard", {"init": "o.json", "weights": "old/weights.hdf5"},
         "The output hard/weights.hdf5 is an input; it is the same file as old"),
        ("old", {"vocabulary": Path("old/vocab.txt")}, "The output old/vocab.txt is an input"),
        ("old", {"train": ["old/*.txt"]}, "The output old/vocab.txt is an input"),
        ("old", {"valid": ["old/training/t"]}, "holds the input old/training/t"),
        ("old", {"vocabulary_text": ["old/options.json"]}, "The output old/options.json is an"),
    ],
)  # fmt: skip
def test_a_wrong_model_directory_is_refused(user, output, inputs, problem):
    Path("taken/curves.png").mkdir(parents=True)
    Path("link").symlink_to("old")
    Path("old/training").mkdir()
    Path("old/training/t").write_text("a b")
    for folder in ("other", "hard"):
        Path(folder).mkdir()
    for name in ("o.json", "weights.hdf5"):
        Path("other", name).write_text("published")
    os.link("old/weights.hdf5", "hard/weights.hdf5")
    before = sorted(user.rglob("*"))
    with pytest.raises(ValueError, match=problem):
        check(Path(output), inputs)
    assert sorted(user.rglob("*")) == before


def check(output, changes):
    """Checks an output for the given changes of the inputs."""
    files = {"train": ["a.txt"], "valid": ["b.txt"]}
    names = {field.name for field in dataclasses.fields(TextData)}
    data = {name: value for name, value in changes.items() if name in names}
    settings = {n: value for n, value in changes.items() if n not in names}
    check_output(output, TextData(**files | data), RunSettings(**settings))


@pytest.mark.parametrize(
    ("output", "inputs"),
    [
        ("new", {}),
        ("old", {"init": "misspelt"}),  # which is reported later
        (".", {}),
        ("a/b/new", {"init": "old"}),
        ("old/tuned", {"init": "old"}),
        ("old", {}),  # its training is resumed
        ("new", {"vocabulary": Path("old/vocab.txt"), "train": ["?.txt"]}),
    ],
)
def test_other_model_directories_are_fine(user, output, inputs):
    before = sorted(user.rglob("*"))
    check(Path(output), inputs)
    assert sorted(user.rglob("*")) == before
