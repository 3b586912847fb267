"""The folder in which parts grow, and the outputs that are checked before."""

import pytest

from elmo_keras.cli.fingerprint import OtherRun
from elmo_keras.embed.checked_outputs import checked_folder
from elmo_keras.embed.parts import Parts

IDENTITY = {"model": "abc", "layers": "top"}


def note_of(path):
    return {"digest": path.read_text()} if path.exists() else None


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def folder(output):
    """A run that has begun in this process."""
    folder = Parts(output, ".parquet", note_of)
    with folder.only_writer():
        folder.open(IDENTITY)
        yield folder


def write(folder, number, content="whole"):
    with folder.writing(number) as file:
        file.write(content.encode())


def begin(folder, number):
    """What a process leaves that is killed while it writes a part."""
    path = folder.path / "begun" / f"{folder.part(number).name}.1"
    path.write_text("half")


def names(path):
    return sorted(found.name for found in path.iterdir())


def test_the_output_appears_when_it_is_finished(folder, output):
    write(folder, 0)
    begin(folder, 1)
    assert not output.exists()
    folder.finish()
    assert names(output) == ["part-0000000.parquet"]
    assert names(folder.path) == ["lock"]


def test_an_earlier_output_stays_until_the_new_one_is_finished(folder, output):
    output.mkdir()
    (output / "part-0000007.parquet").write_text("old")
    write(folder, 0, "new")
    assert (output / "part-0000007.parquet").read_text() == "old"
    folder.finish()
    assert [path.read_text() for path in output.iterdir()] == ["new"]


def test_a_part_that_fails_is_not_there(folder):
    with pytest.raises(OSError), folder.writing(0):
        raise OSError("no room")
    assert not folder.parts_from(0) and not folder.begun(0)


def test_a_run_resumes_with_the_same_values_only(folder, output):
    write(folder, 0)
    again = Parts(output, ".parquet", note_of)
    again.open(IDENTITY)
    assert again.part(0).exists()
    for other in IDENTITY | {"layers": "1"}, {"model": "abc"}:
        with pytest.raises(OtherRun, match="made with layers top; this run has"):
            again.open(other)
    (folder.path / "job.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        again.open(IDENTITY)
    again.open(IDENTITY, overwrite=True)
    assert not again.parts_from(0)


def test_parts_of_other_sentences_are_refused_or_computed_again(folder):
    write(folder, 0, "abc")
    write(folder, 1, "def")
    assert folder.note(0, "abc") == {"digest": "abc"} and folder.note(2, "abc") is None
    with pytest.raises(OtherRun, match="over other texts"):
        folder.note(1, "abc")
    with pytest.raises(OtherRun, match="over other texts"):
        folder.end(1)
    folder.open(IDENTITY, overwrite=True)
    assert folder.note(1, "abc") is None
    folder.end(1)
    assert folder.parts_from(0) == [folder.part(0)]


def test_one_process_writes(folder, output):
    another = Parts(output, ".parquet", note_of)
    with (
        pytest.raises(ValueError, match="Another process writes"),
        another.only_writer(),
    ):
        pass


def test_a_run_without_parts_leaves_nothing(output):
    folder = Parts(output, ".parquet", note_of)
    with folder.only_writer():
        folder.open(IDENTITY)
        begin(folder, 0)
    assert not folder.path.exists()


def test_what_was_finished_when_the_process_ended_is_found(output, monkeypatch):
    folder = Parts(output, ".parquet", note_of)
    with folder.only_writer():
        folder.open(IDENTITY)
        write(folder, 0)
        with monkeypatch.context() as patch:
            patch.setattr(Parts, "discard", lambda _: None)  # killed before that
            folder.finish()
    assert output.exists() and not folder.path.exists()


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
