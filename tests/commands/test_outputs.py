"""Outputs are checked before the work: they can be written, and are no inputs."""

import errno
import os
from pathlib import Path

import pytest

from elmo_keras.commands import outputs
from elmo_keras.commands.outputs import check_apart, check_file, check_folder


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder: a file `text`, a folder `model`, and other names of both."""
    monkeypatch.chdir(tmp_path)
    Path("model/training").mkdir(parents=True)
    for name in ("text", "model/weights", "model/training/softmax"):
        Path(name).write_text(name)
    Path("link").symlink_to("text")
    Path("link_of_link").symlink_to("link")
    Path("other_model").symlink_to("model")
    os.link("text", "hard_link")
    return tmp_path


def tree(folder):
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("text", "The output text is an input. Give another output."),
        ("model/../text", "is an input; it is the same file as text."),
        ("link_of_link", "it is the same file as text."),
        ("hard_link", "it is the same file as text."),
        ("model", "The output model is an input."),
        ("other_model/training/softmax", "is in model, which is an input."),
        (".", "The output . holds the input text."),
    ],
)
def test_an_output_that_would_change_an_input_is_refused(output, problem):
    with pytest.raises(ValueError) as refused:
        check_apart([Path("fine"), Path(output)], [Path("text"), Path("model")])
    assert problem in str(refused.value)


def test_an_output_beside_the_inputs_is_fine_but_its_left_overs_are_no_inputs():
    outputs = ["new", "text.npy", "model.npy", "tex", "models/weights"]
    check_apart(map(Path, outputs), [Path("text"), Path("model"), Path("/dev/null")])
    Path(".new.npy.12.npy").touch()
    with pytest.raises(ValueError, match="The output .new.npy.12.npy is an input"):
        check_apart([Path("new.npy")], [Path(".new.npy.12.npy")])


@pytest.mark.parametrize(
    ("check", "path", "problem"),
    [
        (check_file, "model", "model should be a file, but is a folder"),
        (check_file, "misspelt/file", "There is no folder misspelt for misspelt/file"),
        (check_file, "text/file", "text should be a folder, but is none"),
        (check_file, "/proc/file", "Nothing can be written to the folder /proc: "),
        (check_file, f"{'x' * 250}.hdf5", "can't be written: File name too long"),
        (check_folder, "text", "text should be a folder, but is none"),
        (check_folder, "text/a/b", "text should be a folder for text/a/b, but is none"),
        (check_folder, "/proc/a/b", "Nothing can be written to the folder /proc: "),
        (check_folder, "broken/model", "broken should be a folder"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(folder, check, path, problem):
    Path("broken").symlink_to("nowhere")
    before = tree(folder)
    with pytest.raises(ValueError, match=problem):
        check(Path(path))
    assert tree(folder) == before


def test_a_check_leaves_nothing_and_a_full_disk_is_no_wrong_output(folder, monkeypatch):
    before = tree(folder)
    for path in ("new", "text", "model/new"):
        check_file(Path(path))
    for path in ("new", "a/b/c", "model", "other_model", "."):
        check_folder(Path(path))
    assert tree(folder) == before

    def full(**_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outputs.tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match="No space left"):
        check_file(Path("new"))
