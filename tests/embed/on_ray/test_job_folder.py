"""The folder in which parts grow."""

import pytest

from elmo_keras.embed.on_ray.job_folder import JobFolder, checked_folder
from elmo_keras.embed.unfinished import OtherRun

IDENTITY = {"model": "abc", "layers": "top"}


def test_the_output_appears_when_it_is_finished(folder):
    folder.open(IDENTITY)
    folder.part(0).write_text("whole")
    folder.new_part(1).write_text("half")
    assert not folder.output.exists()
    folder.finish()
    assert [path.name for path in folder.output.iterdir()] == ["part-0000000.parquet"]
    assert list(folder.path.iterdir()) == []


def test_an_earlier_output_stays_until_the_new_one_is_finished(folder):
    folder.output.mkdir()
    (folder.output / "part-0000007.parquet").write_text("old")
    folder.open(IDENTITY)
    folder.part(0).write_text("new")
    assert (folder.output / "part-0000007.parquet").read_text() == "old"
    folder.finish()
    assert [path.read_text() for path in folder.output.iterdir()] == ["new"]


def test_a_job_resumes_with_the_same_values_only(folder):
    folder.open(IDENTITY)
    folder.part(0).write_text("whole")
    folder.close()
    JobFolder(folder.output).open(IDENTITY)
    assert folder.part(0).exists()
    with pytest.raises(OtherRun, match="differs in: layers"):
        JobFolder(folder.output).open(IDENTITY | {"layers": "1"})
    (folder.path / "job.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        JobFolder(folder.output).open(IDENTITY)


def test_a_job_without_parts_leaves_nothing(folder):
    folder.open(IDENTITY)
    folder.new_part(0).write_text("half")
    folder.close()
    assert list(folder.path.iterdir()) == []
    folder.close()


def test_what_was_finished_when_the_process_ended_is_found(folder, monkeypatch):
    folder.open(IDENTITY)
    folder.part(0).write_text("whole")
    monkeypatch.setattr(JobFolder, "discard", lambda _: None)  # killed before that
    folder.finish()
    monkeypatch.undo()
    JobFolder(folder.output).close()
    assert folder.output.exists() and list(folder.path.iterdir()) == []


def check(path, inputs=(), overwrite=False):
    checked_folder(path, list(inputs), overwrite=overwrite)


def test_an_output_that_cannot_be_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    check(tmp_path / "new")
    check(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"should not end in \.hdf5"):
        check(tmp_path / "out.hdf5")
    with pytest.raises(ValueError, match="should be a folder"):
        check(tmp_path / "file")
    with pytest.raises(ValueError, match="There is no folder"):
        check(tmp_path / "no" / "new")
    with pytest.raises(ValueError, match="holds the input"):
        check(tmp_path / "empty", [tmp_path / "empty" / "text.txt"])


def test_only_parts_are_overwritten(tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    (path / "part-0000000.parquet").write_text("")
    with pytest.raises(ValueError, match="exists"):
        check(path)
    check(path, overwrite=True)
    (path / "thesis.txt").write_text("")
    with pytest.raises(ValueError, match=r"holds more than the parts .* thesis\.txt"):
        check(path, overwrite=True)
