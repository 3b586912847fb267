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
    another = Parts(output, ".parquet", note_of).only_writer()
    with pytest.raises(ValueError, match="Another process writes"), another:
        pass


@pytest.mark.parametrize("leave", [begin, lambda folder, _: folder.finish()])
def test_a_run_without_parts_leaves_nothing(output, monkeypatch, leave):
    folder = Parts(output, ".parquet", note_of)
    with folder.only_writer():
        folder.open(IDENTITY)
        with monkeypatch.context() as patch:
            patch.setattr(Parts, "discard", lambda _: None)  # killed before that
            leave(folder, 0)
    assert not folder.path.exists()


def test_what_cannot_be_a_folder_of_parts_is_refused(tmp_path):
    def refused(message, name, inputs=(), **kwargs):
        with pytest.raises(ValueError, match=message):
            check(name, inputs, **kwargs)

    def check(name, inputs=(), overwrite=False):
        checked_folder(tmp_path / name, inputs, overwrite=overwrite)

    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    check("new")
    check("empty")
    refused(r"should not end in \.hdf5", "out.hdf5")
    refused("should be a folder", "file")
    refused("There is no folder", "no/new")
    refused("holds the input", "empty", [tmp_path / "empty" / "text.txt"])
    (tmp_path / "empty" / "part-0000000.parquet").write_text("")
    refused("exists", "empty")
    check("empty", overwrite=True)
    (tmp_path / "empty" / "thesis.txt").write_text("")
    holds = r"holds more than the parts .* thesis\.txt"
    refused(holds, "empty", overwrite=True)
