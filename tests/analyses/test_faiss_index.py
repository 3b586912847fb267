"""Semantic search with an index of faiss."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from elmo_keras.analyses.search.exact_index import ExactIndex
from elmo_keras.analyses.search.metadata import (
    metadata_file,
    read_metadata,
    write_metadata,
)
from tests.analyses.conftest import QUERY
from tests.support.commands import command

faiss = pytest.importorskip("faiss", reason="needs faiss-cpu")

from elmo_keras.analyses.search import faiss_index  # noqa: E402
from elmo_keras.analyses.search.faiss_index import FaissIndex, make_index  # noqa: E402

main = command("search")


@pytest.fixture(scope="module")
def rows():
    """Rows around some centers; one of them is 0."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 8)) + 2
    rows = centers[rng.integers(20, size=500)] + 0.3 * rng.normal(size=(500, 8))
    rows[17] = 0
    return rows.astype("float32")


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Where an index is made, of blocks of 64 rows."""
    monkeypatch.setattr(faiss_index, "ROWS_AT_ONCE", 64)
    return tmp_path / "index"


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    ("description", "tolerance", "share"),
    [
        ("Flat", 1e-6, 1),
        ("IVF25,SQfp16", 2e-4, 0.9),
        ("IVF25,Flat", 1e-6, 0.9),
        ("HNSW8", 1e-6, 0.9),
        pytest.param("OPQ4,IVF9,PQ4,RFlat", 0.3, 0.4, marks=pytest.mark.slow),
    ],
)
def test_the_closest_are_found(rows, path, center, description, tolerance, share):
    make_index(rows, path, description, "a", center=center)
    exact, index = ExactIndex(rows, center), FaissIndex(path, nprobe=6)
    rng, shared = np.random.default_rng(1), []
    for query in rng.normal(size=(20, 8)).astype("float32") + 2:
        found, cosines = index.closest(query, 10)
        expected, expected_cosines = exact.closest(query, 500)
        assert len(found) == 10 and (np.diff(cosines) <= 0).all()
        by_row = dict(zip(expected, expected_cosines))
        np.testing.assert_allclose(cosines, [by_row[i] for i in found], atol=tolerance)
        shared.append(len({*found.tolist()} & {*expected[:10].tolist()}) / 10)
    assert np.mean(shared) >= share
    if description != "HNSW8":
        everything, _ = FaissIndex(path, nprobe=99).closest(query, 1000)
        assert sorted(everything) == [i for i in range(500) if i != 17]


@pytest.mark.parametrize("real", [0, 1])
def test_vectors_that_are_0_are_never_found(path, real):
    rows = np.zeros((70, 5), "float32")
    rows[3] = real
    make_index(rows, path, "Flat", "a")
    found, cosines = FaissIndex(path).closest(np.ones(5, "float32"), 2)
    assert found.tolist() == [3] * real
    np.testing.assert_allclose(cosines, [1] * real, atol=1e-6)


def test_a_full_disk_keeps_the_index_before(rows, path, monkeypatch):
    make_index(rows, path, "Flat", "a")
    before = path.read_bytes(), read_metadata(path)

    def fail(_, name):
        Path(name).write_bytes(b"half")
        raise RuntimeError("write error")

    monkeypatch.setattr(faiss, "write_index", fail)
    with pytest.raises(OSError, match="write error"):
        make_index(rows[:99], path, "Flat", "b", overwrite=True)
    assert (path.read_bytes(), read_metadata(path)) == before
    assert len([*path.parent.iterdir()]) == 2, "nothing is left over"


def test_an_index_of_other_vectors_is_refused_until_it_may_be_overwritten(rows, path):
    make_index(rows, path, "Flat", "a")
    before = path.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faiss_index, "new_index", None)
        make_index(rows, path, "Flat", "a")  # it is there already
    for given, description, fingerprint, center in (
        (rows, "Flat", "b", False),
        (rows[:9], "Flat", "a", False),
        (rows, "SQ8", "a", False),
        (rows, "Flat", "a", True),
    ):
        with pytest.raises(ValueError, match="was made with"):
            make_index(given, path, description, fingerprint, center=center)
    make_index(rows, path, "SQ8", "b", overwrite=True)
    assert read_metadata(path)["vectors"] == "b" and path.read_bytes() != before


def test_a_damaged_index_is_refused(rows, path):
    make_index(rows, path, "IVF5,Flat", "a")
    whole = path.read_bytes()
    for content in (whole[:-5], whole[:1000], b"", b"a" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is damaged. --overwrite"):
            FaissIndex(path)
    path.write_bytes(b"no index")
    write_metadata(path, read_metadata(path) | {"bytes": 8})
    with pytest.raises(ValueError, match="should be an index. --overwrite"):
        FaissIndex(path)
    metadata_file(path).unlink()
    with pytest.raises(ValueError, match="is missing. --overwrite"):
        make_index(rows, path, "IVF5,Flat", "a")
    make_index(rows, path, "Flat", "a", overwrite=True)
    assert len(FaissIndex(path).closest(rows[0], 600)[0]) == 499


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ("IVF", "should describe an index that faiss makes of vectors of 8 numbers"),
        ("PQ3", "should describe"),
        ("IVF600,Flat", "499 sentences are too few to train this index"),
    ],
)
def test_what_faiss_cannot_make_is_a_value_error(rows, path, description, reason):
    with pytest.raises(ValueError, match=reason):
        make_index(rows, path, description, "a")


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--center"]])
def test_the_command_finds_the_same_in_a_text_and_in_parquet(
    text, vectors, find, tmp_path, options, monkeypatch, capsys
):
    for file in (vectors, text):
        exact = find(file, *options, QUERY)
        assert len(exact[0]) == 5
        for index in ("Flat", "IVF1,SQfp16"):
            assert find(file, *options, QUERY, "--index", index) == exact
            assert "0%" not in capsys.readouterr().err, "no bar is left unfinished"
        monkeypatch.setattr(faiss_index, "_train", None)  # it is made once
        assert find(file, *options, QUERY, "--index", "Flat") == exact
        monkeypatch.undo()
    centered = ".centered" if options else ""
    names = {
        f"{name}{centered}.{index}.faiss{end}"
        for name in ("vectors", "text.txt.mix.npy")
        for index in ("Flat", "IVF1,SQfp16")
        for end in ("", ".json")
    }
    assert {file.name for file in tmp_path.glob("*.faiss*")} == names


def test_parquet_that_changed_is_noticed(vectors, find, model, error_of):
    arguments = [vectors, QUERY, "--index", "Flat"]
    find(*arguments)
    shutil.copy(vectors / "b.parquet", vectors / "c.parquet")
    error = error_of(main, [*arguments, "--model", model])
    assert "was made with vectors" in error and "--overwrite" in error
    assert len(find(*arguments, "--overwrite")[0]) == 7
    vectors.with_name("vectors.Flat.faiss").write_bytes(b"a")
    error = error_of(main, [*arguments, "--model", model])
    assert "vectors.Flat.faiss is damaged" in error and "--overwrite" in error


def test_arguments_that_do_not_fit_are_refused(model, text, error_of, monkeypatch):
    def error(*options):
        return error_of(main, [text, "--model", model, "a", *options])

    assert "--nprobe is for --index" in error("--nprobe", 9)
    assert "should describe an index" in error("--index", "PQ7")
    monkeypatch.setattr("elmo_keras.analyses.search.command.Embedder", None)
    text.with_name("text.txt.mix.npy.Flat.faiss").mkdir()
    assert "should be a file" in error("--index", "Flat")
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert "pip install 'elmo-keras[index]'" in error("--index", "SQ8")


@pytest.mark.slow
def test_the_metadata_do_not_grow_with_the_number_of_files(vectors, find):
    file, sizes = vectors.with_name("vectors.Flat.faiss.json"), []
    for n in (1, 60):
        for i in range(n):
            name = f"{'a' * 200}-{i}.parquet"
            if not (vectors / name).exists():
                os.link(vectors / "b.parquet", vectors / name)
        find(vectors, QUERY, "--index", "Flat", "--overwrite")
        sizes.append(file.stat().st_size)
    assert sizes[1] < sizes[0] + 30
