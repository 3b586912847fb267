"""The output of an export is checked before the model is read."""

from pathlib import Path

import pytest

from elmo_keras.export.version_paths import (
    MAX_VERSION,
    archive_path,
    new_version,
    versions,
)
from tests.support.commands import command


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder: a model directory, a file, and a folder of versions."""
    monkeypatch.chdir(tmp_path)
    names = "model/options.json model/weights.hdf5 file versions/3/saved_model.pb"
    for name in (*names.split(), "versions/elmo-5.tar.gz"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("file file", "file should be a folder, but is none"),
        ("model versions --version 3", "none is ever overwritten"),
        (f"model versions --version {10**18}", "at most 18 digits, as TensorFlow Serv"),
        ("model versions --version 5 --archive", "versions/elmo-5.tar.gz exists, and"),
        ("model blocked --serving-files", "blocked/serving should be a folder"),
        ("versions versions --serving-files", "versions/serving is an input"),
    ],
)
def test_a_wrong_output_is_refused_before_the_model_is_read(
    folder, monkeypatch, error_of, arguments, problem
):
    monkeypatch.setattr("elmo_keras.Elmo.from_pretrained", None)
    parts = "elmo_keras.export.command.parts_of_model"
    monkeypatch.setattr(parts, lambda path: [Path(path, "serving")])
    Path("blocked").mkdir()
    Path("blocked/serving").touch()
    before = sorted(folder.rglob("*"))
    assert problem in error_of(command("export"), arguments.split())
    assert sorted(folder.rglob("*")) == before


def test_the_next_version_has_the_number_of_no_version_and_no_archive():
    assert new_version(Path("nowhere"), None) == Path("nowhere/1")
    assert new_version(Path("versions"), None) == Path("versions/6")
    assert new_version(Path("versions"), 4) == Path("versions/4")
    Path("versions/7").touch()  # a file takes a number too
    assert new_version(Path("versions"), None) == Path("versions/8")
    for taken in (3, 7):
        with pytest.raises(FileExistsError, match="none is ever overwritten"):
            new_version(Path("versions"), taken)
    assert archive_path(Path("versions/5")).exists()


def test_a_number_above_int64_is_no_version():
    for name in (str(2**63), "9" * 200):
        Path("versions", name).mkdir()
    assert versions("versions") == [3]
    assert new_version(Path("versions"), None) == Path("versions/6")
    Path("versions", str(MAX_VERSION)).mkdir()
    assert versions("versions") == [3, MAX_VERSION]
    with pytest.raises(ValueError, match="Give a smaller --version"):
        new_version(Path("versions"), None)
