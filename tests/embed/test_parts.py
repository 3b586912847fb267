"""The folder in which parts grow, and the outputs that are checked before."""

import numpy as np
import pytest

from elmo_keras.embed.outputs import (
    Parts,
    check_output_folder,
    read_part_metadata,
    write_part,
)

JOB = {"model": "abc", "layers": "top"}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def folder(output):
    """A run that has begun in this process."""
    folder = Parts(output, ".parquet", None)
    with folder.only_writer():
        folder.open(JOB)
        yield folder


def test_one_process_writes(folder, output):
    another = Parts(output, ".parquet", None).only_writer()
    with pytest.raises(ValueError, match="Another process writes"), another:
        pass


def test_a_part_that_is_damaged_or_of_other_texts_is_computed_again(output):
    parts = Parts(output, ".npy", read_part_metadata)
    with parts.only_writer():
        parts.open(JOB)
        metadata = {"digest": "a", "sentences": [3], "lengths": [2]}
        write_part(parts, 0, [np.ones((2, 3), "float32")], metadata)
        assert parts.metadata(0, "a").items() >= metadata.items()
        with pytest.raises(ValueError, match="belongs to a run over other texts"):
            parts.metadata(0, "b")
        parts.open(JOB, overwrite=True)
        assert parts.metadata(0, "b") is None is parts.metadata(1, "a")
        whole = parts.part(0).read_bytes()
        changed = whole.replace(b"\x80?", b"\x81?", 1)
        for damaged in changed, whole[:-5], whole[:50], b"":
            parts.part(0).write_bytes(damaged)
            assert parts.metadata(0, "a") is None


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


@pytest.mark.parametrize("is_folder", [False, True])
def test_what_another_program_puts_there_stays_and_so_do_the_parts(
    folder, output, is_folder
):
    with folder.writing(0) as file:
        file.write(b"part")
    folder.whole.write_bytes(b"mine")
    if is_folder:
        output.mkdir()
    theirs = output / "file" if is_folder else output
    theirs.write_bytes(b"theirs")
    with pytest.raises(ValueError, match="exists. Another program made it"):
        folder.finish(folder.whole)
    with pytest.raises(ValueError, match="exists. Give another name"):
        folder.open(JOB)
    assert theirs.read_bytes() == b"theirs"
    assert folder.part(0).read_bytes() == b"part"
