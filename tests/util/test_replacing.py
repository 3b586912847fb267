"""Files that are written whole, or not at all."""

import os

import pytest

from elmo_keras.util.replacing import replacing


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_when_it_is_written(tmp_path):
    path = tmp_path / "model.keras"
    with replacing(path) as temporary:
        assert temporary.suffix == ".keras" and "model.keras" in temporary.name
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new" and names(tmp_path) == ["model.keras"]


@pytest.mark.parametrize("fails", ["writing", "putting it in place"])
def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch, fails):
    path = tmp_path / "file"
    path.write_text("old")

    def full(*_):
        raise OSError("No space left")

    if fails == "putting it in place":
        monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"), replacing(path) as temporary:
        temporary.write_text("new")
        if fails == "writing":
            full()
    assert path.read_text() == "old" and names(tmp_path) == ["file"]


def test_files_that_killed_processes_left_are_removed(tmp_path):
    others = [".file.txt.2024.bak", ".file.txt.x", ".file2txt.1.txt", ".o.txt.123.txt"]
    others += [".file.123", ".a.npy.7.npy"]
    for name in (".file.txt.123.txt", ".[a].npy.7.npy", *others):
        (tmp_path / name).touch()
    for name in ("file.txt", "*", "[a].npy"):  # names, no patterns
        with replacing(tmp_path / name) as temporary:
            temporary.touch()
    assert names(tmp_path) == sorted([*others, "file.txt", "*", "[a].npy"])
