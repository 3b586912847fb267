"""Semantic search with an approximate index."""

import shutil
import sys

import numpy as np
import pytest

from elmo_keras.analyses.search import __main__ as search
from elmo_keras.analyses.search.index_note import (
    note_path,
    read_note,
    unfinished,
    write_note,
)
from elmo_keras.analyses.search.parquet_sentences import ParquetSentences
from elmo_keras.analyses.search.search_index import SearchIndex
from tests.analyses.conftest import QUERY

faiss = pytest.importorskip("faiss", reason="needs faiss-cpu")

from elmo_keras.analyses.search import approximate_build as build  # noqa: E402
from elmo_keras.analyses.search.approximate_index import ApproximateIndex  # noqa: E402

make_approximate_index = build.make_approximate_index


@pytest.fixture(scope="module")
def rows():
    """Rows around some centers; one of them is 0."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 7)) + 2
    made = centers[rng.integers(20, size=500)] + 0.3 * rng.normal(size=(500, 7))
    made[17] = 0
    return made.astype("float32")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index"


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 64 rows, saved after 128; lists of 20 rows."""
    monkeypatch.setattr(build, "ROWS_AT_ONCE", 64)
    monkeypatch.setattr(build, "ROWS_OF_LIST", 20)
    monkeypatch.setattr(build, "SAVED_ROWS", 100)


@pytest.mark.parametrize("center", [False, True])
def test_nearly_all_of_the_closest_are_found(rows, path, center, small_blocks):
    assert make_approximate_index(rows, path, {"vectors": 1}, center=center)
    exact, found = SearchIndex(rows, center), ApproximateIndex(path, cells=6)
    assert (len(found), found.n_lists) == (499, 25)
    rng, shared = np.random.default_rng(1), []
    for query in rng.normal(size=(20, 7)).astype("float32") + 2:
        indices, cosines = found.closest(query, 10)
        expected, wanted = exact.closest(query, 500)
        assert len(indices) == 10 and (np.diff(cosines) <= 0).all()
        of_all = dict(zip(expected, wanted))
        np.testing.assert_allclose(cosines, [of_all[i] for i in indices], atol=2e-4)
        shared.append(len({*indices.tolist()} & {*expected[:10].tolist()}))
    assert np.mean(shared) > 9
    everything, _ = ApproximateIndex(path, cells=99).closest(query, 1000)
    assert sorted(everything) == [i for i in range(500) if i != 17]


@pytest.mark.parametrize("real", [0, 1])
def test_vectors_that_are_0_are_never_found(path, small_blocks, real):
    rows = np.zeros((70, 5), "float32")
    rows[3, :] = real
    assert make_approximate_index(rows, path, {})
    indices, cosines = ApproximateIndex(path).closest(np.ones(5, "float32"), 2)
    assert indices.tolist() == [3] * real
    np.testing.assert_allclose(cosines, [1] * real, atol=1e-3)


def test_an_index_grows_from_where_it_was_stopped_or_killed(
    rows, path, small_blocks, monkeypatch
):
    whole, work, steps = path.with_name("whole"), unfinished(path), []
    make_approximate_index(rows, whole, {"a": 1})

    def counted(name, function):
        def count(*arguments, **options):
            steps.append(name)
            if steps.count("rows") == 8:
                raise KeyboardInterrupt
            return function(*arguments, **options)

        return count

    kind, train = faiss.IndexPreTransform, build.trained_index
    monkeypatch.setattr(build, "trained_index", counted("centroids", train))
    monkeypatch.setattr(kind, "add_with_ids", counted("rows", kind.add_with_ids))
    saved_rows = lambda: build.opened(work).ntotal + 1  # noqa: E731, one of them is 0
    stop = lambda: len(steps) == 1  # noqa: E731
    assert not make_approximate_index(rows, path, {"a": 1}, stop=stop)
    assert steps == ["centroids"] and not path.exists()
    stop = lambda: len(steps) == 4  # noqa: E731
    assert not make_approximate_index(rows, path, {"a": 1}, stop=stop)
    assert steps == ["centroids"] + ["rows"] * 3 and saved_rows() == 192
    with pytest.raises(KeyboardInterrupt):
        make_approximate_index(rows, path, {"a": 1})
    assert saved_rows() == 320  # then half as many again weren't added
    assert make_approximate_index(rows, path, {"a": 1})
    assert steps[4:] == ["rows"] * (5 + 3)
    assert not work.exists() and not note_path(work).exists()
    assert path.read_bytes() == whole.read_bytes()


def test_a_full_disk_keeps_what_was_saved(rows, path, small_blocks, monkeypatch):
    make_approximate_index(rows, path, {}, stop=lambda: True)
    before = unfinished(path).read_bytes()

    def fail(*_):
        raise RuntimeError("write error")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="write error"):
        patch.setattr(build.faiss, "write_index", fail)
        make_approximate_index(rows, path, {})
    assert unfinished(path).read_bytes() == before
    assert make_approximate_index(rows, path, {})


def test_an_index_of_other_vectors_is_refused_until_it_may_be_overwritten(
    rows, path, small_blocks
):
    make_approximate_index(rows, path, {"a": 1})
    before = path.read_bytes()
    assert make_approximate_index(rows, path, {"a": 1}), "it is there already"
    for given, a, center in ((rows, 2, False), (rows[:9], 1, False), (rows, 1, True)):
        with pytest.raises(ValueError, match="was made with"):
            make_approximate_index(given, path, {"a": a}, center=center)
    stopped = {"stop": lambda: True, "overwrite": True}
    assert not make_approximate_index(rows, path, {"a": 2}, **stopped)
    assert path.read_bytes() == before, "the old one stays until the new one is whole"
    assert not make_approximate_index(rows, path, {"a": 3}, **stopped)
    assert read_note(unfinished(path))["a"] == 3
    assert make_approximate_index(rows, path, {"a": 3}, overwrite=True)
    assert read_note(path)["a"] == 3


def test_a_damaged_index_is_refused(rows, path):
    with pytest.raises(FileNotFoundError):
        ApproximateIndex(path)
    make_approximate_index(rows, path, {})
    whole = path.read_bytes()
    for content in (whole[:-5], whole[:1000], b"", b"a" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is damaged, or not the index"):
            ApproximateIndex(path)
    path.write_bytes(b"no index")
    write_note(path, {"bytes": 8})
    with pytest.raises(ValueError, match="should be an approximate index"):
        ApproximateIndex(path)


@pytest.mark.parametrize("name", ["index", "index.unfinished"])
def test_an_index_without_a_note_is_refused_and_made_anew(rows, path, name):
    path.with_name(name).write_bytes(b"of an earlier version")
    with pytest.raises(ValueError, match="is missing. Ask to overwrite it"):
        make_approximate_index(rows, path, {})
    assert make_approximate_index(rows, path, {}, overwrite=True)
    assert len(ApproximateIndex(path)) == 499


def test_an_index_that_was_killed_before_its_last_step_is_finished(rows, path):
    assert make_approximate_index(rows, path, {"a": 1})
    whole = path.read_bytes()
    write_note(unfinished(path), read_note(path))
    path.rename(unfinished(path))
    assert make_approximate_index(rows, path, {"a": 1})
    assert path.read_bytes() == whole and not unfinished(path).exists()


@pytest.mark.parametrize("options", [[], ["--center"]])
def test_the_command_finds_the_same_in_a_text_and_in_parquet(
    text, vectors, find, tmp_path, options, monkeypatch
):
    for file in (vectors, text):
        exact = find(file, *options, QUERY)
        assert len(exact[0]) == 5
        for _ in range(2):
            assert find(file, *options, QUERY, "--approximate") == exact
            monkeypatch.setattr(build, "_grow", None)  # it is made once
        monkeypatch.undo()
    kind = "centered.approximate" if options else "approximate"
    made = {file.name for file in tmp_path.glob("*.approximate*")}
    names = {f"vectors.{kind}", f"text.txt.average.npy.{kind}"}
    assert made == names | {f"{name}.json" for name in names}


def test_parquet_that_changed_is_noticed(vectors, find, model, error_of, monkeypatch):
    find(vectors, "--approximate", QUERY)
    with monkeypatch.context() as patch:
        patch.setattr(ParquetSentences, "digest", None)  # not even read
        find(vectors, "--approximate", QUERY)
    (vectors / "a.parquet").touch()
    find(vectors, "--approximate", QUERY)  # the content is the same
    shutil.copy(vectors / "b.parquet", vectors / "c.parquet")
    command = [vectors, "--elmo", model, "--approximate", QUERY]
    error = error_of(search.main, command)
    assert "was made with vectors" in error and "--overwrite" in error
    assert len(find(vectors, "--approximate", QUERY, "--overwrite")[0]) == 7
    vectors.with_name("vectors.approximate").write_bytes(b"a")
    error = error_of(search.main, command)
    assert "vectors.approximate is damaged" in error and "--overwrite" in error


def test_an_interrupted_command_says_that_it_resumes(
    vectors, find, model, capsys, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(build, "_grow", lambda *_, **__: False)
        command = [str(vectors), "--elmo", model, "--approximate", QUERY]
        assert search.main(command) == 130
    assert capsys.readouterr().err.endswith("The same command resumes.\n")
    assert len(find(vectors, "--approximate", QUERY)[0]) == 5


def test_arguments_that_do_not_fit_are_refused(model, tmp_path, error_of, monkeypatch):
    (tmp_path / "text.txt").write_text("a\n")
    monkeypatch.setattr(search, "Embedder", None)

    def error(*options):
        command = [tmp_path / "text.txt", "--elmo", model, "a", *options]
        return error_of(search.main, command)

    assert "--cells is for --approximate" in error("--cells", 9)
    index = tmp_path / "folder.npy"
    (tmp_path / "folder.npy.approximate").mkdir()
    assert "should be a file" in error("--approximate", "--index", index)
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert "pip install 'elmo-keras[index]'" in error("--approximate")
