"""Files that are written whole, or not at all, by one process, for one run."""

import os
import threading

import pytest

from elmo_keras.base.files import OtherRun, check_same_run, only_process, replacing
from tests.support.waiting import wait_until


def test_other_values_are_named():
    check_same_run({"a": 1, "b": None}, {"a": 1}, "file", "Do this.")  # the same
    for now, then in ({"a": 1}, {"a": 2}), ({"a": 1}, {}), ({}, {"a": 1}):
        values = f"a {then.get('a')}; this run has {now.get('a')}"
        with pytest.raises(OtherRun, match=f"file was made with {values}. Do this."):
            check_same_run(now, then, "file", "Do this.")
    both = "a 1; this run has 2; with b None; this run has 3. Do this."
    with pytest.raises(OtherRun, match=f"^file was made with {both}$"):
        check_same_run({"a": 2, "b": 3}, {"a": 1}, "file", "Do this.")


def test_a_folder_is_made_and_locked_until_the_block_ends(tmp_path):
    folder = tmp_path / "a" / "b"
    with only_process(folder, "taken"):
        # A lock belongs to the open file, so this process can't get it twice either.
        with pytest.raises(ValueError, match="taken"):
            only_process(folder, "taken").__enter__()
        assert [path.name for path in folder.iterdir()] == ["lock"]
    with only_process(folder, "taken", remove=True), pytest.raises(ValueError):
        only_process(folder, "taken", remove=True).__enter__()
    assert list(folder.iterdir()) == []


def test_a_folder_is_waited_for_and_the_wait_is_said_once(tmp_path, capsys):
    shown, done = [], []

    def wait():
        with only_process(tmp_path / "a", "waiting", wait=True):
            done.append("waited")

    with only_process(tmp_path / "a", "never said", wait=True):
        thread = threading.Thread(target=wait)
        thread.start()
        wait_until(lambda: shown.append(capsys.readouterr().err) or any(shown))
        assert done == []
    thread.join()
    assert done == ["waited"] and "".join(shown) == "waiting\n"


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
