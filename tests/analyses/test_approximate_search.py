"""Semantic search with an approximate index."""

import io
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from elmo_keras import Elmo, embed_corpus
from elmo_keras.analyses.search import __main__ as search
from elmo_keras.analyses.search.noted_file import add_note, note_of
from elmo_keras.analyses.search.search_index import SearchIndex

pytest.importorskip("usearch", reason="needs usearch")

from elmo_keras.analyses.search import approximate_build as build  # noqa: E402
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
    monkeypatch.setattr(build, "ROWS_AT_ONCE", 64)
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
    exact, found = SearchIndex(vectors, center), ApproximateIndex(path)
    assert len(found) == 499
    rng, shared = np.random.default_rng(1), []
    for query in rng.normal(size=(20, 7)).astype("float32") + 2:
        indices, cosines = found.closest(query, 10)
        expected, wanted = exact.closest(query, 10)
        assert len(indices) == 10 and (np.diff(cosines) <= 0).all()
        np.testing.assert_allclose(cosines[0], wanted[0], atol=2e-3)
        shared.append(len({*indices.tolist()} & {*expected.tolist()}))
    assert np.mean(shared) > 9
    everything, _ = ApproximateIndex(path, effort=499).closest(query, 1000)
    assert sorted(everything) == [i for i in range(500) if i != 17]


def test_vectors_that_are_all_0_are_never_found(tmp_path):
    path = tmp_path / "index"
    assert make_approximate_index(np.zeros((3, 5), "float32"), path, {})
    indices, cosines = ApproximateIndex(path).closest(np.ones(5, "float32"), 2)
    assert len(indices) == len(cosines) == 0


def test_an_index_grows_from_where_it_was_stopped_or_killed(
    vectors, tmp_path, small_blocks, monkeypatch
):
    path, starts = tmp_path / "index", []
    add = build._Build._add_block

    def counted(self, kill_at=None):
        starts.append(self._note["done"])
        if self._note["done"] == kill_at:
            raise KeyboardInterrupt
        add(self)

    monkeypatch.setattr(build._Build, "_add_block", counted)
    stop = lambda: len(starts) == 3  # noqa: E731
    assert not make_approximate_index(vectors, path, {"a": 1}, stop=stop)
    assert starts == [0, 64, 128] and not path.exists()
    assert note_of(unfinished(path))["done"] == 192
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(build._Build, "_add_block", lambda self: counted(self, 384))
        make_approximate_index(vectors, path, {"a": 1})
    assert note_of(unfinished(path))["done"] == 320  # 100 rows more were added then
    starts.clear()
    assert make_approximate_index(vectors, path, {"a": 1})
    assert starts == [320, 384, 448]
    assert [file.name for file in tmp_path.iterdir()] == ["index"]
    everything, _ = ApproximateIndex(path, effort=499).closest(vectors[0], 1000)
    assert sorted(everything) == [i for i in range(500) if i != 17]


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
    assert note_of(unfinished(path))["done"] == 64
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
            monkeypatch.setattr(build._Build, "run", None)  # it is made once
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
        patch.setattr(build._Build, "run", lambda *_: False)
        assert search.main(command) == 130
    assert capsys.readouterr().err.endswith("The same command resumes.\n")
    assert search.main(command) == 0
    assert len(lines_of(capsys)) == 5


def test_arguments_that_do_not_fit_are_refused(
    model_directory, tmp_path, capsys, monkeypatch
):
    (tmp_path / "text.txt").write_text("a\n")
    (tmp_path / "folder.approximate").mkdir()
    monkeypatch.setattr(search.Elmo, "from_pretrained", None)

    def error_of(*options):
        command = [str(tmp_path / "text.txt"), "--elmo", str(model_directory), "a"]
        assert search.main([*command, *map(str, options)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    assert "--effort is for --approximate" in error_of("--effort", 9)
    index = tmp_path / "folder"
    index = index.with_suffix(".npy")
    (tmp_path / "folder.npy.approximate").mkdir()
    assert "should be a file" in error_of("--approximate", "--index", index)
    monkeypatch.setitem(__import__("sys").modules, "usearch.index", None)
    assert "pip install 'elmo-keras[index]'" in error_of("--approximate")
