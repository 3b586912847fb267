"""Semantic search, by its command."""

import gzip
import json
import os
import shutil
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras.analyses.search import exact_index, text_sentences
from elmo_keras.analyses.search.exact_index import ExactIndex
from elmo_keras.analyses.search.parquet_sentences import ParquetSentences
from elmo_keras.analyses.search.text_sentences import TextSentences
from elmo_keras.embed import corpus
from elmo_keras.embed.parts import folder_of
from tests.analyses.conftest import QUERY, SENTENCES
from tests.support.commands import command

main = command("search")


def test_the_sentence_with_the_same_words_in_another_order_is_found(text, find):
    (found,) = find(text, "--top", 2, QUERY)
    assert {number for number, _ in found} == {"1", "4"}
    (found,) = find(text, "--center", SENTENCES[2])
    assert found[0] == ("3", SENTENCES[2])


@pytest.mark.parametrize(
    "options", [["--center"], pytest.param([], marks=pytest.mark.slow)]
)
def test_sentences_are_found_in_parquet_as_in_a_text(text, in_parquet, find, options):
    (wanted,), (found,) = (find(f, *options, QUERY) for f in (text, in_parquet))
    # An id counts from 0, the number of a line from 1.
    assert [(str(int(i) + 1), sentence) for i, sentence in found] == wanted


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        ([f"line {i}" for i in range(6)], "line 3"),
        ([None] * 6, "None"),
    ],
)
def test_ids_of_any_type_are_printed(in_parquet, find, tmp_path, ids, shown):
    table = pa.concat_tables(map(pq.read_table, sorted(in_parquet.glob("*.parquet"))))
    table = table.sort_by("id").set_column(0, "id", [pa.array(ids)])
    pq.write_table(table, tmp_path / "named.parquet")
    found = find(tmp_path, "--top", 1, SENTENCES[3])
    assert found == [[(shown, SENTENCES[3])]]


def test_files_that_are_being_written_are_no_part_of_a_folder(vectors, find):
    for name in (".b.parquet.17.parquet", "_b.parquet"):
        (vectors / name).write_text("half of a file")
    assert len(find(vectors, "rain")[0]) == 5


def test_vectors_of_parquet_are_read_in_any_pieces(in_parquet):
    with ParquetSentences(in_parquet) as sentences:
        whole = sentences[:]
        assert whole.shape == sentences.shape == (6, 10)
        for first in range(7):
            for end in range(7):
                np.testing.assert_array_equal(sentences[first:end], whole[first:end])
        names = [sentences.sentence(i)[0] for i in range(6)]
        assert names == [3, 4, 5, 0, 1, 2]
        for file, rows in zip("ab", (whole[:3], whole[3:])):
            column = pq.read_table(in_parquet / f"{file}.parquet")["vector"]
            np.testing.assert_array_equal(np.array(column.to_pylist(), "f4"), rows)


def test_parquet_of_other_vectors_is_refused(in_parquet, model, error_of, tmp_path):
    def error(path, *options):
        return error_of(main, [path, "--model", model, *options, "rain"])

    assert "are for a text" in error(in_parquet, "--layers", "top")
    assert "no .parquet files" in error(tmp_path)
    (tmp_path / "a.parquet").write_text("a")
    assert "should be a Parquet file" in error(tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    assert "should have the columns" in error(tmp_path)
    table = pq.read_table(in_parquet / "b.parquet")

    def written(**changes):
        about = json.loads(table.schema.metadata[b"elmo_keras"]) | changes
        metadata = {"elmo_keras": json.dumps(about)}
        path = tmp_path / "a.parquet"
        pq.write_table(table.replace_schema_metadata(metadata), path)
        return path

    assert "another model" in error(written(model="1"))
    assert "another arithmetic" in error(written(arithmetic="int8 by LiteRT"))
    assert "It has top, max" in error(written(layers="top", pooling="max"))
    other_mix = {"mix": [1.0, 0.0, 0.0], "gamma": 1.0, "layer_norm": False}
    assert "another mix" in error(written(layers="mix", **other_mix))
    shutil.copy(in_parquet / "b.parquet", tmp_path)
    for other in ({"model": "1"}, {"layers": "top"}, {"pooling": "max"}):
        written(**other)
        assert "another model, layer, pooling or size" in error(tmp_path)


def test_queries_come_from_standard_input_where_none_is_given(
    text, find, tmp_path, monkeypatch
):
    queries = tmp_path / "queries.txt"
    queries.write_text(f"{SENTENCES[5]}\n\n{SENTENCES[4]}\n")
    with queries.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        found = find(text, "--top", 9)
    assert [hits[0] for hits in found] == [("6", SENTENCES[5]), ("5", SENTENCES[4])]
    assert [len(hits) for hits in found] == [5, 5], "the empty line is none"


def test_the_index_is_made_once_and_refused_for_another_text(
    text, model, find, error_of, monkeypatch
):
    metadata = json.loads(text.with_name("text.txt.mix.npy.json").read_text())
    assert {"text", "model", "layers", "mix", "arithmetic"} <= metadata.keys()
    with monkeypatch.context() as patch:
        patch.setattr(text_sentences, "embed_corpus", None)
        patch.setattr(text_sentences, "check_file", None)  # reading needs no room
        assert len(find(text, "rain")[0]) == 5
    text.write_text("another\n")
    error = error_of(main, [text, "--model", model, "rain"])
    assert "was made with text" in error and "--overwrite" in error
    assert find(text, "rain", "--overwrite") == [[("1", "another")]]


@pytest.mark.slow
def test_the_old_index_answers_until_the_new_one_is_whole(
    text, model, find, monkeypatch, tmp_path
):
    index, note = (tmp_path / f"text.txt.mix.npy{end}" for end in ("", ".json"))
    old = index.read_bytes(), note.read_bytes()
    text.write_text("\n".join(reversed(SENTENCES)))
    command = [str(text), "--model", model, "rain"]
    write = corpus.write_part

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(corpus, "write_part", interrupted)
        assert main([*command, "--overwrite"]) == 130
    assert (index.read_bytes(), note.read_bytes()) == old
    assert main(command) == 2, "the old index is not of this text"
    text.write_text("\n".join(SENTENCES) + "\n")
    assert len(find(text, "rain")[0]) == 5
    text.write_text("\n".join(reversed(SENTENCES)))
    find(text, "rain", "--overwrite")
    (found,) = find(text, "rain", "--top", 9)
    assert ("5", SENTENCES[1]) not in found
    np.testing.assert_array_equal(np.load(index)[4], 0)  # the empty line
    assert note.read_bytes() != old[1] and not folder_of(index).exists()


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ("text.npy", "The output text.npy is an input"),
        ("noted.npy", "The output noted.npy.json is an input"),
        ("index.txt", "should end in .npy"),
    ],
)
def test_wrong_vectors_are_refused_before_the_model_is_read(
    tmp_path, monkeypatch, error_of, vectors, reason
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("elmo_keras.analyses.search.command.Embedder", None)
    for name in ("text.npy", "noted.npy.json"):
        (tmp_path / name).write_text("a text")
    before = {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    text = "noted.npy.json" if "noted" in vectors else "text.npy"
    command = [text, "--model", "lm", "--vectors", vectors, "--overwrite", "a"]
    assert reason in error_of(main, command)
    assert {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("rows_at_once", [7, 100])
def test_cosines_are_those_of_the_definition_in_any_pieces(
    monkeypatch, center, rows_at_once
):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(23, 5)).astype("float32") + 3
    vectors[[2, 11]] = 0
    query = rng.normal(size=5).astype("float32")
    real = np.delete(np.arange(23), [2, 11])
    mean = vectors[real].mean(axis=0) if center else 0
    rows, q = vectors[real] - mean, query - mean
    cosines = rows @ q / np.linalg.norm(rows, axis=1) / np.linalg.norm(q)
    order = np.argsort(-cosines)
    monkeypatch.setattr(exact_index, "ROWS_AT_ONCE", rows_at_once)
    index = ExactIndex(vectors, center)
    found, values = index.closest(query, 30)
    assert found.tolist() == real[order].tolist()
    np.testing.assert_allclose(values, cosines[order], atol=1e-6)
    assert index.closest(query, 4)[0].tolist() == real[order][:4].tolist()


def test_nothing_is_found_among_no_sentences():
    index = ExactIndex(np.zeros((3, 5), "float32"), True)
    assert [len(x) for x in index.closest(np.ones(5, "float32"), 2)] == [0, 0]


def test_lines_are_read_by_their_number_from_gzip_too(tmp_path):
    content = b"\xef\xbb\xbffirst\r\n\n \xea\xb0\x80 x\nlast"
    (tmp_path / "text.txt").write_bytes(content)
    (tmp_path / "text.gz").write_bytes(gzip.compress(content))
    for name in ("text.txt", "text.gz"):
        with TextSentences(tmp_path / name, tmp_path) as lines:
            found = [lines.sentence(i) for i in (3, 0, 2, 1)]
            assert found == [(4, "last"), (1, "first"), (3, "가 x"), (2, "")]


NOT_TEXT, UNNOTED = b"good\nb\xff\n", "text.txt.top.npy"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.write_bytes(NOT_TEXT), "Line 2"),
        (lambda text: text.unlink(), "No such file"),
        (lambda text: text.write_bytes(gzip.compress(b"a b")[:-1]), "complete gzip"),
        (lambda text: text.write_bytes(b""), "holds no sentence"),
        (
            lambda text: text.write_bytes(b"a\n" + bytes(2**20 + 1)),
            "line 2: it has more",
        ),
        (lambda text: text.with_name(UNNOTED).touch(), "top.npy.json, which"),
    ],
)
def test_an_error_of_the_input_is_one_line_and_status_2(
    text, model, error_of, change, reason
):
    change(text)
    files = set(text.parent.iterdir())
    command = [text, "--model", model, "--layers", "top", "rain"]
    error = error_of(main, command)
    assert error.startswith("elmo-keras search: ") and reason in error
    assert set(text.parent.iterdir()) == files


def test_wrong_arguments_are_refused(text, model, error_of, capsys):
    command = [text, "--model", model]
    assert "at least one token" in error_of(main, [*command, " "])
    error = error_of(main, [*command, "a", "--layers", "7"])
    assert "--layers should be one of" in error
    assert main([str(text), "--model", model, "--layers", "all"]) == 2
    assert "for --layers" in capsys.readouterr().err
