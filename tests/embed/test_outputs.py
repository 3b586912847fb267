"""Outputs are checked before the work."""

import shutil
from pathlib import Path

import pytest

from elmo_keras import Elmo
from elmo_keras.embed.outputs import check_output_folder
from tests.support.commands import command
from tests.support.paths import contents


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("model/training/new.h5", "is in model/training, which is an input"),
        ("taken.npy", "taken.npy.unfinished should be a folder, but is none"),
        ("out.hdf5 --pooling max", "should end in .npy"),
        ("out.hdf5 --shard 4/3", "(i, n)"),
    ],
)
def test_a_wrong_output_is_refused_before_the_model_is_read(
    tmp_path, model_directory, monkeypatch, error_of, arguments, problem
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Elmo, "from_pretrained", None)
    shutil.copytree(model_directory, "model")
    Path("text.hdf5").write_text("A text .")
    Path("taken.npy.unfinished").touch()
    before = contents(tmp_path)
    arguments = ["text.hdf5", *arguments.split(), "--model=model", "--overwrite"]
    assert problem in error_of(command("embed"), arguments)
    assert contents(tmp_path) == before


def test_what_cannot_be_a_folder_of_parts_is_refused(tmp_path):
    def check(name, inputs=(), overwrite=False):
        check_output_folder(tmp_path / name, inputs, overwrite=overwrite)

    def refused(message, *arguments, **kwargs):
        with pytest.raises(ValueError, match=message):
            check(*arguments, **kwargs)

    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    check("new")
    check("empty")
    refused(r"should not end in \.hdf5", "out.hdf5")
    refused("should be a folder", "file")
    refused("holds the input", "empty", [tmp_path / "empty" / "text.txt"])
    (tmp_path / "empty" / "part-0000000.parquet").write_text("")
    refused("exists", "empty")
    check("empty", overwrite=True)
    (tmp_path / "empty" / "thesis.txt").write_text("")
    refused(r"holds more than .* thesis\.txt", "empty", overwrite=True)
