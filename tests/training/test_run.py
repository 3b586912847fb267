"""A model directory belongs to one process, and a new one does not stay empty."""

import contextlib
from pathlib import Path

import pytest

from elmo_keras.training.options import RunSettings, TextData
from elmo_keras.training.run import CHECKPOINTS, check_output, has_model, reserve


@pytest.mark.parametrize(
    "kept", [None, "options.json", f"{CHECKPOINTS}/checkpoint-1.hdf5"]
)
def test_a_new_directory_stays_if_it_holds_a_model_or_a_checkpoint(tmp_path, kept):
    output = tmp_path / "a" / "model"
    with pytest.raises(OSError, match="disk"), reserve(output, lock=True):
        assert (output / "training" / "lock").exists()
        if kept:
            (output / kept).parent.mkdir(parents=True, exist_ok=True)
            (output / kept).touch()
        raise OSError("disk")
    assert output.exists() == (kept is not None)
    assert has_model(output) == (kept == "options.json")


def test_others_are_let_in_without_the_lock_and_an_old_directory_stays(tmp_path):
    with reserve(tmp_path, lock=False):
        pass
    assert tmp_path.exists() and not list(tmp_path.iterdir())
    with (
        reserve(tmp_path, lock=True),
        reserve(tmp_path, lock=False),
        pytest.raises(ValueError, match="another process is training there"),
        reserve(tmp_path, lock=True),
    ):
        pass


@pytest.mark.parametrize(
    ("output", "inputs", "problem"),
    [
        ("a.txt", {}, "a.txt should be a folder, but is none"),
        ("taken", {}, "taken/curves.png should be a file, but is a folder"),
        ("old", {"init": "old"}, "is an input"),
        ("other", {"options": "other/o.json", "weights": "other/weights.hdf5"},
         "The output other/weights.hdf5 is an input"),
        ("old", {"vocabulary": Path("old/vocab.txt")}, "The output old/vocab.txt is an input"),
        ("old", {"valid": ["old/training/t"]}, "holds the input old/training/t"),
        ("old", {"vocabulary_text": ["old/options.json"]}, "The output old/options.json is an"),
        ("old", {"init": "misspelt"}, None),  # it is reported later
        ("old/tuned", {"init": "old"}, None),
        ("old", {}, None),  # its training is resumed
    ],
)  # fmt: skip
def test_only_a_wrong_model_directory_is_refused(
    output, inputs, problem, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("taken/curves.png").mkdir(parents=True)
    files = "a.txt b.txt other/o.json other/weights.hdf5"
    files += " old/options.json old/weights.hdf5 old/vocab.txt old/training/t"
    for path in map(Path, files.split()):
        path.parent.mkdir(exist_ok=True)
        path.write_text("a b")
    before = sorted(tmp_path.rglob("*"))
    settings = {n: inputs[n] for n in ("init", "options", "weights") if n in inputs}
    files = {"train": ["a.txt"], "valid": ["b.txt"]} | inputs
    data = {name: files[name] for name in files.keys() - settings.keys()}
    refused = pytest.raises(ValueError, match=problem)
    with refused if problem else contextlib.nullcontext():
        check_output(Path(output), TextData(**data), RunSettings(**settings))
    assert sorted(tmp_path.rglob("*")) == before
