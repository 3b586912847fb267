"""Semantic search: its command, exact search and an index of faiss."""

import gzip
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras import Embedder, embed_corpus
from elmo_keras.embed import options
from elmo_keras.search import command as search
from elmo_keras.search import find as module
from elmo_keras.search import sentences
from elmo_keras.search.find import find as closest
from elmo_keras.search.sentences import TextSentences
from tests.support.commands import command

main = command("search")
pytest.importorskip("faiss", reason="needs faiss-cpu")
pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")

from elmo_keras.search.faiss_index import FaissIndex  # noqa: E402

SENTENCES = [
    "the river rose after the rain .",
    "",
    "she opened an account at the bank .",
    "after the rain the river rose .",
    "nobody 가나다 knows 🙂",
    "the bank closed her account .",
]
QUERY = "the rain rose after the river ."


@pytest.fixture(scope="module")
def model(lite_file):
    """A small model for LiteRT: the command traces no graph each time."""
    return str(lite_file("float32"))


@pytest.fixture(scope="module")
def indexed(tmp_path_factory, model):
    """A folder with a text and its vectors, which the command has made."""
    path = tmp_path_factory.mktemp("indexed") / "text.txt"
    path.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    assert main([str(path), "--model", model, "rain"]) == 0
    return path.parent


@pytest.fixture
def text(tmp_path, indexed):
    """A text, with its vectors beside it."""
    shutil.copytree(indexed, tmp_path, dirs_exist_ok=True)
    return tmp_path / "text.txt"


@pytest.fixture(scope="module")
def in_parquet(tmp_path_factory, indexed, model):
    """A folder of two Parquet files with the sentences, not in their order."""
    folder = tmp_path_factory.mktemp("in")
    embedder = Embedder(model, pooling="mean")
    embed_corpus(embedder, indexed / "text.txt", folder / "b.parquet")
    table = pq.read_table(folder / "b.parquet")
    pq.write_table(table[3:], folder / "a.parquet")
    pq.write_table(table[:3], folder / "b.parquet", row_group_size=2)
    return folder


@pytest.fixture
def vectors(tmp_path, in_parquet):
    """The folder of Parquet files, to be changed, and a file that is being written."""
    folder = shutil.copytree(in_parquet, tmp_path / "vectors")
    (folder / ".b.parquet.17.parquet").write_text("half of a file")
    return folder


@pytest.fixture
def find(model, capsys):
    """Runs `search`; gives (id, sentence) of all that match, for each query."""

    def run(file, *options):
        capsys.readouterr()
        assert main([*map(str, [file, "--model", model, *options])]) == 0
        _, *answers = capsys.readouterr().out.split("Closest to: ")
        hit = re.compile(r"^ *-?\d\.\d{3} +(.+?)  (.*)$", re.M)
        return [hit.findall(answer) for answer in answers]

    return run


def test_the_sentence_with_the_same_words_in_another_order_is_found(text, find):
    [hits] = find(text, "--top", 2, QUERY)
    assert {number for number, _ in hits} == {"1", "4"}
    [hits] = find(text, "--center", SENTENCES[2])
    assert hits[0] == ("3", SENTENCES[2])


@pytest.mark.parametrize("more", [[], ["--center"]])
def test_parquet_and_an_index_find_the_same_as_the_vectors_of_a_text(
    text, vectors, model, find, error_of, more, tmp_path
):
    [expected] = find(text, *more, QUERY)
    assert len(expected) == 5  # without the empty line
    assert find(text, *more, QUERY, "--index", "IVF1,SQfp16") == [expected]
    for index in [], ["--index", "Flat"]:
        [hits] = find(vectors, *more, QUERY, *index)
        # An id counts from 0, the number of a line from 1.
        assert [(str(int(i) + 1), sentence) for i, sentence in hits] == expected
    centered = ".centered" if more else ""
    names = {file.name for file in tmp_path.glob("*.faiss")}
    assert names == {
        f"text.txt.mix.npy{centered}.IVF1,SQfp16.faiss",
        f"vectors{centered}.Flat.faiss",
    }
    shutil.copy(vectors / "b.parquet", vectors / "c.parquet")
    index = vectors, QUERY, *more, "--index", "Flat"
    error = error_of(main, [*index, "--model", model])
    assert "was made with different vectors" in error and "--overwrite" in error
    assert len(find(*index, "--overwrite")[0]) == 7


def test_ids_of_any_type_are_printed(in_parquet, find, tmp_path):
    table = pa.concat_tables(map(pq.read_table, sorted(in_parquet.glob("*.parquet"))))
    table = table.sort_by("id")
    texts = [pa.array([f"\x1b{text}" for text in table["text"].to_pylist()])]
    table = table.set_column(table.column_names.index("text"), "text", texts)
    for ids, shown in ([f"\x07{i}" for i in range(6)], "\ufffd3"), ([None] * 6, "None"):
        named = table.set_column(0, "id", [pa.array(ids)])
        pq.write_table(named, tmp_path / "named.parquet")
        results = find(tmp_path, "--top", 1, SENTENCES[3])
        # A terminal obeys no character of the file.
        assert results == [[(shown, f"\ufffd{SENTENCES[3]}")]]


def test_parquet_of_other_vectors_is_refused(vectors, model, error_of):
    def error(path, *options):
        return error_of(main, [path, "--model", model, *options, "rain"])

    file = vectors / "a.parquet"
    table = pq.read_table(file)
    mix = {"mix": [1.0, 0.0, 0.0], "gamma": 1.0, "layer_norm": False}
    for name, change in (
        ("model", {"model": "1"}),
        ("pooling", {"pooling": "max"}),
        ("layers", {"layers": "top"}),  # not those of the other file
        ("mix", mix),
        ("lower_case", {"lower_case": True}),
    ):
        metadata = json.loads(table.schema.metadata[b"elmo_keras"]) | change
        metadata = {"elmo_keras": json.dumps(metadata)}
        pq.write_table(table.replace_schema_metadata(metadata), file)
        path = vectors if name == "layers" else file
        assert re.search(rf"was made with (different )?{name}", error(path)), name
    assert "are for a text" in error(vectors, "--layers", "top")
    pq.write_table(pa.table({"id": [1]}), file)
    assert "should have the columns" in error(vectors)
    for path in vectors.glob("[ab].parquet"):
        path.unlink()
    assert "no .parquet files" in error(vectors)


def test_queries_come_from_standard_input_where_none_is_given(
    text, find, tmp_path, monkeypatch
):
    queries = tmp_path / "queries.txt"
    queries.write_text(f"{SENTENCES[5]}\n\n{SENTENCES[4]}\n")
    with queries.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        results = find(text, "--top", 9)
    assert [hits[0] for hits in results] == [("6", SENTENCES[5]), ("5", SENTENCES[4])]
    assert [len(hits) for hits in results] == [5, 5], "the empty line is none"


def test_vectors_are_made_once_and_refused_for_another_text(
    text, model, find, error_of, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(sentences, "embed_corpus", None)
        patch.setattr(search, "check_file", None)  # reading needs no room
        assert len(find(text, "rain")[0]) == 5
    assert np.load(text.with_name("text.txt.mix.npy")).shape == (6, 10)
    command = text, "--model", model, "rain"
    error = error_of(main, [*command, "--lower-case"])
    assert "was made with lower_case None; this run has True" in error
    text.write_text("another\n")
    assert (
        "text.txt.mix.npy was made with different text. --overwrite makes it anew."
        in error_of(main, command)
    )
    assert find(text, "rain", "--overwrite") == [[("1", "another")]]


def test_lines_are_read_by_their_number_from_gzip_too(tmp_path):
    content = b"\xef\xbb\xbffirst\r\n\n \xea\xb0\x80 x\nlast"
    (tmp_path / "text.txt").write_bytes(content)
    (tmp_path / "text.gz").write_bytes(gzip.compress(content))
    for name in ("text.txt", "text.gz"):
        lines = TextSentences(tmp_path / name)
        actual = [lines.sentence(i) for i in (3, 0, 2, 1)]
        assert actual == [(4, "last"), (1, "first"), (3, "가 x"), (2, "")]


@pytest.mark.parametrize(
    ("file", "content", "more", "reason"),
    [
        ("text", b"good\nb\xff\n", "", "Line 2"),
        ("text", b"", "", "holds no sentence"),
        ("text", b"a", "--vectors vectors.txt", "should end in .npy"),
        ("a.npy", b"a", "--vectors a.npy --overwrite", "The output a.npy is an input"),
        ("text", b"a", "--layers all", "--layers name one. Received: text.all.npy"),
        ("text", b"a", "--nprobe 9", "--nprobe is for --index"),
        ("text", b"a", "--index a/b", "text.mix.npy.a_b.faiss should be a file"),
    ],
)
def test_wrong_input_is_refused_before_the_model_is_read(
    tmp_path, error_of, monkeypatch, file, content, more, reason
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(options, "Embedder", None)
    Path("text.mix.npy.a_b.faiss").mkdir()
    Path(file).write_bytes(content)
    before = {path: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()}
    assert reason in error_of(main, [file, "--model", "lm", *more.split(), "a"])
    after = {path: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()}
    assert after == before


def test_wrong_arguments_are_refused(text, model, error_of):
    command = [text, "--model", model]
    assert "at least one token" in error_of(main, [*command, " "])
    (text.parent / "text.txt.top.npy").touch()
    error = error_of(main, [*command, "a", "--layers", "top"])
    assert "text.txt.top.npy is damaged, or of another program. --overwrite" in error


class Vectors:
    """Sentences as `FaissIndex` takes them, in blocks of 64."""

    def __init__(self, rows, metadata="a"):
        self.rows, self.metadata = rows, metadata

    def __len__(self):
        return len(self.rows)

    def blocks(self):
        return (self.rows[i : i + 64] for i in range(0, len(self), 64))

    def vectors(self, rows):
        return self.rows[rows]


@pytest.fixture(scope="module")
def rows():
    """Rows around some centers; one of them is 0."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 8)) + 2
    rows = centers[rng.integers(20, size=500)] + 0.3 * rng.normal(size=(500, 8))
    rows[17] = 0
    return rows.astype("float32")


@pytest.mark.parametrize("center", [False, True])
def test_cosines_are_those_of_the_definition(rows, center, monkeypatch):
    query = np.random.default_rng(1).normal(size=8).astype("float32")
    real = np.delete(np.arange(500), 17)
    mean = rows[real].mean(axis=0) if center else 0
    others, q = rows[real] - mean, query - mean
    cosines = others @ q / np.linalg.norm(others, axis=1) / np.linalg.norm(q)
    order = np.argsort(-cosines)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 64)
    [(matches, values), (first, _)] = closest(
        rows, np.stack([query, rows[3]]), top=600, center=center
    )
    assert matches.tolist() == real[order].tolist() and first[0] == 3
    np.testing.assert_allclose(values, cosines[order], atol=1e-6)
    [(matches, _)] = closest(rows, query, top=4, center=center)
    assert matches.tolist() == real[order][:4].tolist()


@pytest.mark.parametrize(
    ("description", "tolerance", "share", "center"),
    [
        ("Flat", 1e-6, 1, True),
        ("IVF25,SQfp16", 1e-6, 0.9, False),
        ("HNSW8", 1e-6, 0.9, True),
        ("IDMap,Flat", 1e-6, 1, False),
        ("IDMap2,Flat", 1e-6, 1, True),
        ("PCA6,Flat", 1e-6, 0.6, True),
        ("RR8,SQ4", 1e-6, 0.9, False),
    ],
)
def test_an_index_finds_the_closest(
    rows, tmp_path, description, tolerance, share, center
):
    path = tmp_path / "index"
    index = FaissIndex(path, Vectors(rows), description, center=center, nprobe=6)
    rng, shared = np.random.default_rng(1), []
    queries = rng.normal(size=(20, 8)).astype("float32") + 2
    every = closest(rows, queries, top=500, center=center)
    for query, (expected, expected_cosines) in zip(queries, every):
        ids, cosines = index.closest(query, 10)
        assert len(ids) == 10 and (np.diff(cosines) <= 0).all()
        by_row = dict(zip(expected, expected_cosines))
        np.testing.assert_allclose(cosines, [by_row[i] for i in ids], atol=tolerance)
        shared.append(len({*ids.tolist()} & {*expected[:10].tolist()}) / 10)
    assert np.mean(shared) >= share
    ids, cosines = index.closest(rows[3], 1)
    assert ids.tolist() == [3] and cosines[0] == pytest.approx(1)
    if description != "HNSW8":
        index = FaissIndex(path, Vectors(rows), description, center=center, nprobe=99)
        everything, _ = index.closest(query, 1000)
        assert sorted(everything) == [i for i in range(500) if i != 17]


@pytest.mark.parametrize("real", [0, 1])
def test_vectors_that_are_0_are_never_found(tmp_path, real):
    rows = np.zeros((70, 5), "float32")
    rows[3] = real
    index, query = FaissIndex(tmp_path / "i", Vectors(rows), "Flat"), np.ones(5, "f4")
    for ids, cosines in *closest(rows, query, top=2), index.closest(query, 2):
        assert ids.tolist() == [3] * real
        np.testing.assert_allclose(cosines, [1] * real, atol=1e-6)


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ("PQ3", "should describe an index of faiss for 8 numbers"),
        ("IVF600,Flat", "499 sentences are too few to train this index"),
        ("IVF0,Flat", "It has no lists"),
    ],
)
def test_what_faiss_cannot_make_is_a_value_error(rows, tmp_path, description, reason):
    with pytest.raises(ValueError, match=reason):
        FaissIndex(tmp_path / "index", Vectors(rows), description)


def test_a_row_that_is_not_finite_is_named(rows, tmp_path):
    damaged = rows.copy()
    damaged[71, 2] = np.nan
    with pytest.raises(ValueError, match="row 71, counted from 0, is not finite"):
        FaissIndex(tmp_path / "index", Vectors(damaged), "Flat")
    with pytest.raises(ValueError, match="row 71, counted from 0, is not finite"):
        closest(damaged, rows[0])
