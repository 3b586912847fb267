"""The folder of a job that grows part by part."""

import pytest

from elmo_keras.base.progress import Progress
from elmo_keras.jobs.parts import Parts, check_part, make_part, read_part

JOB = {"model": "abc", "layers": "top"}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def parts(output):
    """A run that has begun in this process."""
    parts = Parts(output)
    with parts.only_writer():
        parts.open(JOB)
        yield parts


def test_one_process_writes(parts, output):
    another = Parts(output).only_writer()
    with pytest.raises(ValueError, match="Another process writes"), another:
        pass


def test_a_part_of_other_texts_is_made_again_only_to_overwrite(parts):
    metadata = {"digest": "a", "sentences": [3]}
    parts.write(0, [b"1", b"23"], metadata)
    assert parts.metadata(0, "a") == metadata and parts.metadata(1, "a") is None
    assert [(about, bytes(content)) for about, content in parts.read()] == [
        (metadata, b"123")
    ]
    with pytest.raises(ValueError, match="belongs to a run over other texts"):
        parts.metadata(0, "b")
    parts.open(JOB, overwrite=True)
    assert parts.metadata(0, "b") is None


def test_every_damage_of_a_part_is_noticed(parts):
    parts.write(0, [b"123"], {"digest": "a"})
    whole = parts.part(0).read_bytes()
    damages = [whole[:i] for i in range(len(whole))]
    damages += [
        whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1 :] for i in range(len(whole))
    ]
    for damaged in damages:
        parts.part(0).write_bytes(damaged)
        assert parts.metadata(0, "a") is None
        with pytest.raises(ValueError):
            list(parts.read())


def test_a_damaged_job_is_discarded_only_to_overwrite(parts):
    (parts.path / "job.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="out.unfinished is damaged. Remove it"):
        parts.open(JOB)
    parts.open(JOB, overwrite=True)


def test_parts_of_a_longer_text_are_other_texts(parts):
    for index in range(2):
        parts.write(index, [b"1"], {"digest": "a"})
    written = [(False, 1, 1)]
    with pytest.raises(ValueError, match="belongs to a run over other texts"):
        parts.count(written, Progress(disable=True), lambda _: None, lambda: False)


def test_files_of_others_in_the_folder_of_a_job_stay(output):
    parts = Parts(output)
    mine = parts.path / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    with parts.only_writer():
        parts.open(JOB)
        parts.whole.write_text("whole")
        parts.finish(parts.whole)
    assert mine.read_text() == "mine" and output.read_text() == "whole"


@pytest.mark.parametrize("is_folder", [False, True])
def test_what_another_program_puts_there_stays_and_so_do_the_parts(
    parts, output, is_folder
):
    parts.write(0, [b"part"], {"digest": "a"})
    parts.whole.write_bytes(b"mine")
    if is_folder:
        output.mkdir()
    theirs = output / "file" if is_folder else output
    theirs.write_bytes(b"theirs")
    with pytest.raises(ValueError, match="exists. Another program made it"):
        parts.finish(parts.whole)
    with pytest.raises(ValueError, match="exists. Give another name"):
        parts.open(JOB)
    assert theirs.read_bytes() == b"theirs"
    assert parts.metadata(0, "a") == {"digest": "a"}


def test_a_file_that_ends_with_what_it_was_made_from_is_checked(output):
    output.write_bytes(b"index")
    made_from = {"text": "abc", "rows": 3}
    make_part(output, made_from | {"mean": [1.5]})
    assert check_part(output, made_from, "Do this.")["mean"] == [1.5]
    assert bytes(read_part(output)[1]) == b"index"
    with pytest.raises(ValueError, match="made with rows 3; this run has 4. Do this."):
        check_part(output, {"rows": 4}, "Do this.")
