"""Semantic search with an approximate index."""

import io
import shutil
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from elmo_keras import Elmo, embed_corpus
from elmo_keras.analyses.search import __main__ as search
from elmo_keras.analyses.search.noted_file import add_note, note_of
from elmo_keras.analyses.search.search_index import SearchIndex

pytest.importorskip("faiss", reason="needs faiss-cpu")

from elmo_keras.analyses.search import approximate_build as build  # noqa: E402
from elmo_keras.analyses.search import cells  # noqa: E402
from elmo_keras.analyses.search.approximate_build import (  # noqa: E402
    make_approximate_index,
    unfinished,
)
from elmo_keras.analyses.search.approximate_index import ApproximateIndex  # noqa: E402

SENTENCES = [
    "the river rose after the rain .",
    "",
    "she opened an account at the bank .",
    "after the rain the river rose .",
    "the bank closed her account .",
]
QUERY = "the rain rose after the river ."


@pytest.fixture(scope="module")
def vectors():
    """Rows around some centers; one of them is 0."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 7)) + 2
    rows = centers[rng.integers(20, size=500)] + 0.3 * rng.normal(size=(500, 7))
    rows[17] = 0
    return rows.astype("float32")


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 64 rows, saved after 128; cells of 20 rows."""
    monkeypatch.setattr(cells, "ROWS_AT_ONCE", 64)
    monkeypatch.setattr(cells, "ROWS_OF_CELL", 20)
    monkeypatch.setattr(build, "SAVED_ROWS", 100)


def parquet(folder, model):
    """A folder of two Parquet files with the sentences."""
    (folder / "text.txt").write_text("\n".join(SENTENCES))
    (folder / "vectors").mkdir()
    output = folder / "vectors" / "a.parquet"
    options = {"layers": "average", "pooling": "mean"}
    embed_corpus(Elmo.from_pretrained(model), folder / "text.txt", output, **options)
    table = pq.read_table(output)
    pq.write_table(table[:2], output)
    pq.write_table(table[2:], folder / "vectors" / "b.parquet")
    return folder / "vectors"


@pytest.mark.parametrize("center", [False, True])
def test_nearly_all_of_the_closest_are_found(vectors, tmp_path, center, small_blocks):
    path = tmp_path / "index"
    assert make_approximate_index(vectors, path, {"vectors": 1}, center=center)
    exact, found = SearchIndex(vectors, center), ApproximateIndex(path, cells=6)
    assert (len(found), found.n_cells) == (499, 25)
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
def test_vectors_that_are_0_are_never_found(tmp_path, small_blocks, real):
    path, vectors = tmp_path / "index", np.zeros((70, 5), "float32")
    vectors[3, :] = real
    assert make_approximate_index(vectors, path, {})
    indices, cosines = ApproximateIndex(path).closest(np.ones(5, "float32"), 2)
    assert indices.tolist() == [3] * real
    np.testing.assert_allclose(cosines, [1] * real, atol=1e-3)


def test_an_index_grows_from_where_it_was_stopped_or_killed(
    vectors, tmp_path, small_blocks, monkeypatch
):
    whole, path, steps = tmp_path / "whole", tmp_path / "index", []
    work = unfinished(path)
    make_approximate_index(vectors, whole, {"a": 1})

    def counted(function):
        def count(*arguments, **options):
            steps.append("rows" if options else "centers")
            if steps.count("rows") == 8:
                raise KeyboardInterrupt
            function(*arguments, **options)

        return count

    for name in ("add_rows", "train"):
        monkeypatch.setattr(build, name, counted(getattr(build, name)))
    stop = lambda: len(steps) == 1  # noqa: E731
    assert not make_approximate_index(vectors, path, {"a": 1}, stop=stop)
    assert steps == ["centers"] and not path.exists()
    stop = lambda: len(steps) == 4  # noqa: E731
    assert not make_approximate_index(vectors, path, {"a": 1}, stop=stop)
    assert steps == ["centers"] + ["rows"] * 3 and note_of(work)["done"] == 192
    with pytest.raises(KeyboardInterrupt):
        make_approximate_index(vectors, path, {"a": 1})
    assert note_of(work)["done"] == 320  # then half as many again weren't added
    assert make_approximate_index(vectors, path, {"a": 1})
    assert steps[4:] == ["rows"] * (5 + 3) and not work.exists()
    assert path.read_bytes() == whole.read_bytes()


def test_a_full_disk_keeps_what_was_saved(vectors, tmp_path, small_blocks, monkeypatch):
    path = tmp_path / "index"
    make_approximate_index(vectors, path, {}, stop=lambda: True)
    before = unfinished(path).read_bytes()

    def fail(*_):
        raise RuntimeError("write error")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="write error"):
        patch.setattr(build.faiss, "write_index", fail)
        make_approximate_index(vectors, path, {})
    assert unfinished(path).read_bytes() == before
    assert make_approximate_index(vectors, path, {})


def test_an_index_of_other_vectors_is_refused_until_it_may_be_overwritten(
    vectors, tmp_path, small_blocks
):
    path = tmp_path / "index"
    make_approximate_index(vectors, path, {"a": 1})
    before = path.read_bytes()
    assert make_approximate_index(vectors, path, {"a": 1}), "it is there already"
    others = [(vectors, {"a": 2}, {}), (vectors[:9], {"a": 1}, {})]
    others += [(vectors, {"a": 1}, {"center": True})]
    for rows, made_of, options in others:
        with pytest.raises(ValueError, match="the approximate index of other vectors"):
            make_approximate_index(rows, path, made_of, **options)
    stopped = {"stop": lambda: True, "overwrite": True}
    assert not make_approximate_index(vectors, path, {"a": 2}, **stopped)
    assert path.read_bytes() == before, "the old one stays until the new one is whole"
    assert not make_approximate_index(vectors, path, {"a": 3}, **stopped)
    assert note_of(unfinished(path))["made_of"]["a"] == 3
    assert make_approximate_index(vectors, path, {"a": 3}, overwrite=True)
    assert ApproximateIndex(path).about["a"] == 3


def test_a_damaged_index_is_refused(vectors, tmp_path):
    path = tmp_path / "index"
    with pytest.raises(FileNotFoundError):
        ApproximateIndex(path)
    make_approximate_index(vectors, path, {})
    whole = path.read_bytes()
    for content in (whole[:-5], whole[:1000], b"", b"a" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is damaged, or another kind of file"):
            ApproximateIndex(path)
    path.write_bytes(b"no index")
    add_note(path, note_of_bytes := {"made_of": {}, "mean": [0.0] * 7})
    with pytest.raises(ValueError, match="should be an approximate index"):
        ApproximateIndex(path)
    assert note_of(path) == note_of_bytes


def lines_of(capsys):
    """The lines that were printed, without the cosines."""
    return [line[8:] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("options", [[], ["--center"]])
def test_the_command_finds_the_same_in_a_text_and_in_parquet(
    model_directory, tmp_path, capsys, options, monkeypatch
):
    folder = parquet(tmp_path, model_directory)
    for file in (folder, tmp_path / "text.txt"):
        command = [str(file), "--elmo", str(model_directory), *options, QUERY]
        assert search.main(command) == 0
        exact = lines_of(capsys)
        for _ in range(2):
            assert search.main([*command, "--approximate"]) == 0
            assert lines_of(capsys) == exact and len(exact) == 5
            monkeypatch.setattr(build._Build, "add_rows", None)  # it is made once
        monkeypatch.undo()
    kind = "centered.approximate" if options else "approximate"
    made = {file.name for file in tmp_path.glob("*.approximate*")}
    assert made == {f"vectors.{kind}", f"text.txt.average.npy.{kind}"}


def test_parquet_that_changed_is_noticed(
    model_directory, tmp_path, capsys, monkeypatch
):
    folder = parquet(tmp_path, model_directory)
    command = [str(folder), "--elmo", str(model_directory), "--approximate", QUERY]
    assert search.main(command) == 0
    with monkeypatch.context() as patch:
        patch.setattr(search_vectors(), "digest", None)  # not even read
        assert search.main(command) == 0
    (folder / "a.parquet").touch()
    assert search.main(command) == 0, "the content is the same"
    capsys.readouterr()
    shutil.copy(folder / "b.parquet", folder / "c.parquet")
    assert search.main(command) == 2
    error = capsys.readouterr().err
    assert "index of other vectors: vectors and rows differ" in error
    assert error.count("\n") == 1
    assert search.main([*command, "--overwrite", "--top", "9"]) == 0
    assert len(lines_of(capsys)) == 8


def search_vectors():
    from elmo_keras.analyses.search.parquet_vectors import ParquetVectors

    return ParquetVectors


def test_an_interrupted_command_says_that_it_resumes(
    model_directory, tmp_path, capsys, monkeypatch
):
    folder = parquet(tmp_path, model_directory)
    command = [str(folder), "--elmo", str(model_directory), "--approximate"]
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUERY}\n"))
    with monkeypatch.context() as patch:
        patch.setattr(build._Build, "add_rows", lambda *_: False)
        assert search.main(command) == 130
    assert capsys.readouterr().err.endswith("The same command resumes.\n")
    assert search.main(command) == 0
    assert len(lines_of(capsys)) == 5


def test_arguments_that_do_not_fit_are_refused(
    model_directory, tmp_path, capsys, monkeypatch
):
    (tmp_path / "text.txt").write_text("a\n")
    monkeypatch.setattr(search.Elmo, "from_pretrained", None)

    def error_of(*options):
        command = [str(tmp_path / "text.txt"), "--elmo", str(model_directory), "a"]
        assert search.main([*command, *map(str, options)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    assert "--cells is for --approximate" in error_of("--cells", 9)
    index = tmp_path / "folder.npy"
    (tmp_path / "folder.npy.approximate").mkdir()
    assert "should be a file" in error_of("--approximate", "--index", index)
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert "pip install 'elmo-keras[index]'" in error_of("--approximate")
