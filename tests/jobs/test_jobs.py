"""All that is written part by part: a kill, a full disk or damage change no byte of it."""

import errno
import functools
import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from elmo_keras import Corpus, Embedder, embed_corpus, pipeline
from elmo_keras.heads.annotate import command as annotate
from elmo_keras.training.checkpoint import newest_checkpoint, save_checkpoint
from tests.support.paths import contents

TEXT = "The bank of Ann .\nIt is n't red .\n\nAnn sleeps , and the river rose .\n"
OTHER = "Another text .\n" * 9
PART_BYTES = 30  # bytes of text, so that there are several parts


class Job(NamedTuple):
    """`run(folder, …)` makes the output of `text.txt` there, or resumes that."""

    run: Callable[..., Any]
    result: Callable[[Path], Any]  # the bytes of the output; None if there is none
    another: dict[str, Any] | None = None  # arguments of `run` for another job
    parts: str | None = "out*.unfinished/parts/*"  # they are made again if damaged


def files(*names):
    """The bytes of files, or None if the first one is missing."""

    def read(folder):
        if (folder / names[0]).exists():
            return [(folder / name).read_bytes() for name in names]
        return None

    return read


@pytest.fixture(scope="module")
def lite(lite_file):
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")
    return lite_file("float32")


def embedding(suffix):
    def make(request):
        lite, pooling = request.getfixturevalue("lite"), "mean" * (suffix == ".npy")
        # Layer 0 needs no LSTM.
        options = {"layers": 0, "tokens_at_once": 10, "pooling": pooling or None}
        embedders = {
            dtype: Embedder(lite, dtype=dtype, **options)
            for dtype in ("float32", "float16")
        }

        def run(folder, *, dtype="float32", **call):
            output = folder / f"out{suffix}"
            embed_corpus(embedders[dtype], folder / "text.txt", output, **call)

        return Job(run, files(f"out{suffix}"), {"dtype": "float16"})

    return make


def annotation(request):
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")
    loaded = {name: [pipeline(name)] for name in ("en-pos", "en-ner")}

    def run(folder, *, head="en-pos", **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(annotate, "PART_BYTES", PART_BYTES)
            annotate.write_annotated(
                (folder / "text.txt").read_bytes().splitlines(keepends=True),
                folder / "out.html",
                loaded[head],
                {"head": head},
                **options,
            )

    return Job(run, files("out.html"), {"head": "en-ner"})


def search(request):
    pytest.importorskip("faiss", reason="needs faiss-cpu")
    from elmo_keras.search.faiss_index import FaissIndex
    from elmo_keras.search.sentences import TextSentences

    lite = request.getfixturevalue("lite")
    embedder = functools.partial(
        Embedder, lite, layers=0, pooling="mean", tokens_at_once=10
    )
    embedders = {dtype: embedder(dtype=dtype) for dtype in ("float32", "float16")}

    def run(folder, *, dtype="float32", overwrite=False):
        sentences = TextSentences(folder / "text.txt")
        vectors, index = folder / "out.npy", folder / "out.faiss"
        sentences.prepare(embedders[dtype], vectors, overwrite=overwrite)
        FaissIndex(index, sentences, "Flat", overwrite=overwrite)

    return Job(run, files("out.faiss", "out.npy"), {"dtype": "float16"})


def corpus(request):
    def run(folder, **_):
        text = (folder / "text.txt").read_text()
        lines = [line.split() for line in text.splitlines()]
        Corpus.in_files(lines, folder / "out", text)

    return Job(run, files(*(f"out/{n}" for n in CORPUS)), parts="out/*")


CORPUS = "tokens.int32", "ends.int64", "words.txt"


def checkpoint(request):
    def run(folder, **_):
        text = (folder / "text.txt").read_bytes()
        arrays, step = (
            {"weights": np.frombuffer(text, "u1")},
            1 + (text == TEXT.encode()),
        )
        save_checkpoint(folder / "out", step, arrays, metadata={"step": step})

    def result(folder):
        newest = newest_checkpoint(folder / "out")
        return newest and (newest[0]["weights"].tobytes(),)

    return Job(run, result, parts=None)


JOBS = {
    "hdf5": embedding(".hdf5"),
    "npy": embedding(".npy"),
    "parquet": embedding(".parquet"),
    "annotate": annotation,
    "search": search,
    "corpus": corpus,
    "checkpoint": checkpoint,
}


@pytest.fixture(scope="module", params=JOBS)
def job(request):
    return JOBS[request.param](request)


@pytest.fixture
def folder(tmp_path):
    return new_folder(tmp_path / "whole")


def new_folder(folder, text=TEXT):
    folder.mkdir()
    (folder / "text.txt").write_text(text)
    return folder


def observe(monkeypatch, function):
    """Calls a function before each `fsync` and around each `replace`."""
    sync, replace = os.fsync, os.replace

    def observed_sync(file):
        function()
        sync(file)

    def observed_replace(*paths):
        function()
        replace(*paths)
        function()

    monkeypatch.setattr(os, "fsync", observed_sync)
    monkeypatch.setattr(os, "replace", observed_replace)


@pytest.fixture
def states(job, folder, tmp_path):
    """Copies of the folder at each moment at which a kill could leave it, in their order."""
    copies = []

    def copy():
        copies.append(tmp_path / f"{len(copies)}")
        shutil.copytree(folder, copies[-1])

    with pytest.MonkeyPatch.context() as patch:
        observe(patch, copy)
        job.run(folder)
    return copies


def finish(job, folder, **options):
    """Repeats a call; one whose output is there already may be refused."""
    before = job.result(folder)
    try:
        job.run(folder, **options)
    except ValueError as error:
        assert "exists. Give another name" in str(error) and before is not None


def test_a_kill_at_any_moment_changes_no_byte(job, folder, states):
    assert len(states) > 1
    for state in states:
        finish(job, state)
        assert job.result(state) == job.result(folder)


@pytest.fixture
def earlier(job, tmp_path):
    """A folder with the output of another text, in place of which that of `TEXT` is made."""
    folder = new_folder(tmp_path / "earlier", OTHER)
    job.run(folder)
    (folder / "text.txt").write_text(TEXT)
    return folder


def test_a_full_disk_is_one_error_and_what_was_there_stays(
    job, folder, states, earlier, tmp_path
):
    """Each step fails once, with the files of the steps before it."""
    whole, old = job.result(folder), job.result(earlier)
    assert old != whole
    for n in range(len(states)):
        steps = iter(range(n))

        def step(steps=steps):
            if next(steps, None) is None:
                raise OSError(errno.ENOSPC, "No space left on device")

        copy = shutil.copytree(earlier, tmp_path / f"full-{n}")
        with pytest.MonkeyPatch.context() as patch, pytest.raises(OSError) as raised:
            observe(patch, step)
            job.run(copy, overwrite=True)
        assert raised.value.errno == errno.ENOSPC
        # A corpus, which is read again, may be gone.
        for now, *expected in zip(job.result(copy) or [], old, whole):
            assert now in expected
        job.run(copy, overwrite=True)
        assert job.result(copy) == whole


def test_files_that_grow_too_large_are_an_error(job, folder, earlier):
    resource = pytest.importorskip("resource")
    job.run(folder)
    whole, old = job.result(folder), job.result(earlier)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(map(len, whole))
    for size in 1, largest // 2, largest - 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(OSError) as raised:
                job.run(earlier, overwrite=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert raised.value.errno in (errno.EFBIG, errno.EIO)
        assert job.result(earlier) == old
    job.run(earlier, overwrite=True)
    assert job.result(earlier) == whole


def test_the_folder_of_another_job_is_refused(job, folder, states):
    if job.another is None:
        pytest.skip("it is made anew")
    state = states[len(states) // 2]
    before = contents(state)
    with pytest.raises(ValueError, match="was made with"):
        job.run(state, **job.another)
    assert contents(state) == before
    job.run(state, **job.another, overwrite=True)
    another = new_folder(folder.with_name("another"))
    job.run(another, **job.another)
    assert job.result(state) == job.result(another) != job.result(folder)


def test_what_is_damaged_is_made_again(job, folder, states, tmp_path):
    if job.parts is None:
        pytest.skip("the one before it is read, which other tests check")
    state = states[len(states) // 2]
    damaged = sorted(path.relative_to(state) for path in state.glob(job.parts))
    assert damaged
    for n, (name, damage) in enumerate(itertools.product(damaged, DAMAGES)):
        copy = shutil.copytree(state, tmp_path / f"damaged-{n}")
        (copy / name).write_bytes(damage((copy / name).read_bytes()))
        finish(job, copy)
        assert job.result(copy) == job.result(folder)


DAMAGES = [
    lambda content: bytes([content[0] ^ 1]) + content[1:],
    lambda content: content[:-9],
    lambda content: b"",
]
