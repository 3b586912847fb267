"""The output of an embedding: checked first, replaced last."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras.embed import corpus
from elmo_keras.embed.outputs import (
    Parts,
    check_output_folder,
    folder_of,
    read_part_metadata,
    write_part,
)
from tests.support.commands import command

TEXT = "\n".join(f"w{i} {'and more words ' * (i % 5)}" for i in range(40))
SMALL = {"layers": 0, "tokens_at_once": 60}  # layer 0 needs no LSTM


@pytest.fixture(scope="module")
def whole(embed, tmp_path_factory):
    """The contents of uninterrupted runs by suffix."""
    folder, contents = tmp_path_factory.mktemp("whole"), {}
    (folder / "text.txt").write_text(TEXT)
    for suffix in (".hdf5", ".npy"):
        output = folder / f"out{suffix}"
        embed(folder / "text.txt", output, **SMALL)
        contents[suffix] = output.read_bytes()
    return contents


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with a text."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT)
    return tmp_path


def tree(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in files}


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
    folder, model_directory, monkeypatch, error_of, arguments, problem
):
    monkeypatch.setattr(Elmo, "from_pretrained", None)
    shutil.copytree(model_directory, "model")
    Path("text.hdf5").write_text(TEXT)
    Path("taken.npy.unfinished").touch()
    before = tree(folder)
    arguments = ["text.hdf5", *arguments.split(), "--model=model", "--overwrite"]
    assert problem in error_of(command("embed"), arguments)
    assert tree(folder) == before


@pytest.mark.parametrize("name", ["out.hdf5", "out.npy"])
def test_the_old_output_stays_until_the_new_one_is_whole(
    embed, whole, monkeypatch, name
):
    seen, write = [], corpus.write_part

    def seeing(*arguments):
        seen.append(Path(name).read_text())
        write(*arguments)

    monkeypatch.setattr(corpus, "write_part", seeing)
    Path(name).write_text("old")
    first = interrupted(embed, name, overwrite=True)
    assert Path(name).read_text() == "old" and len(seen) == 3
    with pytest.raises(ValueError, match=f"{name} exists"):
        embed("text.txt", name, **SMALL)
    summary = embed("text.txt", name, overwrite=True, **SMALL)
    assert summary.finished and summary.tokens == len(TEXT.split())
    # No batch was computed twice.
    assert 0 < summary.tokens_now == summary.tokens - first.tokens_now
    assert set(seen) == {"old"}
    assert Path(name).read_bytes() == whole[Path(name).suffix]
    assert not folder_of(Path(name)).exists()


def interrupted(embed, output="out.hdf5", n_batches=3, **changes):
    """Leaves an unfinished output after some batches."""
    stops = iter([False] * n_batches)
    arguments = SMALL | changes | {"stop": lambda: next(stops, True)}
    summary = embed("text.txt", output, **arguments)
    assert folder_of(Path(output)).exists()
    return summary


@pytest.mark.parametrize(
    ("begun", "files", "problem"),
    [
        ({"dtype": "float16"}, {}, "was made with dtype float16; this run has float32"),
        ({"text": TEXT * 9, "n_batches": 12}, {}, "belongs to a run over other texts"),
        ({}, {"job.json": "[" * 100_000}, "out.hdf5.unfinished is damaged"),
    ],
)
def test_only_overwriting_discards_an_unfinished_output(
    embed, whole, begun, files, problem
):
    Path("text.txt").write_text(begun.pop("text", TEXT))
    interrupted(embed, **begun)
    for name, content in files.items():
        (folder_of(Path("out.hdf5")) / name).write_text(content)
    Path("text.txt").write_text(TEXT)
    with pytest.raises(ValueError, match=problem):
        embed("text.txt", "out.hdf5", **SMALL)
    assert folder_of(Path("out.hdf5")).exists()
    embed("text.txt", "out.hdf5", overwrite=True, **SMALL)
    assert Path("out.hdf5").read_bytes() == whole[".hdf5"]
    assert not folder_of(Path("out.hdf5")).exists()


def test_what_is_damaged_in_the_same_run_is_not_assembled(embed, whole, monkeypatch):
    index = corpus.sentence_to_index

    def flip(paths):
        content = bytearray(paths[1].read_bytes())
        content[200] ^= 1
        paths[1].write_bytes(content)
        return index(paths)

    with monkeypatch.context() as patch:
        patch.setattr(corpus, "sentence_to_index", flip)
        with pytest.raises(ValueError, match=r"part-0000001\.npy was damaged after it"):
            embed("text.txt", "out.hdf5", **SMALL)
    assert not Path("out.hdf5").exists()
    summary = embed("text.txt", "out.hdf5", **SMALL)
    assert 0 < summary.tokens_now < 60 < summary.tokens  # one batch
    assert Path("out.hdf5").read_bytes() == whole[".hdf5"]


def test_a_pipe_overwrites_what_belongs_to_another_text(embed):
    interrupted(embed)
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as file:
        file.write(f"another {TEXT}")
        file.close()
        embed(f"/dev/fd/{reading}", "out.hdf5", overwrite=True, **SMALL)
    Path("text.txt").write_text(f"another {TEXT}")
    embed("text.txt", "whole.hdf5", **SMALL)
    assert Path("out.hdf5").read_bytes() == Path("whole.hdf5").read_bytes()


def test_files_of_others_in_the_unfinished_folder_stay(embed):
    mine = folder_of(Path("out.npy")) / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    for overwrite in (False, True):
        embed("text.txt", "out.npy", **SMALL, overwrite=overwrite)
        assert mine.read_text() == "mine" and np.load("out.npy").shape == (40, 10)


JOB = {"model": "abc", "layers": "top"}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def parts(output):
    """A run that has begun in this process."""
    parts = Parts(output, ".parquet", None)
    with parts.only_writer():
        parts.open(JOB)
        yield parts


def test_one_process_writes(parts, output):
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
    parts, output, is_folder
):
    with parts.writing(0) as file:
        file.write(b"part")
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
    assert parts.part(0).read_bytes() == b"part"
