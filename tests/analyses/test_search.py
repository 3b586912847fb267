"""Semantic search, as its users call it."""

import gzip
import io
import json

import numpy as np
import pytest
from conftest import randomize

from elmo_keras import BidirectionalLanguageModel, Elmo, embed_corpus
from elmo_keras.embedding import loop
from elmo_keras.model_directory import save_model
from elmo_keras.tasks import search
from elmo_keras.tasks.analyses import search_index
from elmo_keras.tasks.analyses.search_index import SearchIndex, mean_vector
from elmo_keras.tasks.readers.line_index import LineIndex

SENTENCES = [
    "the river rose after the rain .",
    "",
    "she opened an account at the bank .",
    "after the rain the river rose .",
    "nobody 가나다 knows 🙂",
    "the bank closed her account .",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from elmo_keras import ElmoConfig

    bilm = BidirectionalLanguageModel(ElmoConfig.preset("test"))
    bilm.build()
    folder = tmp_path_factory.mktemp("model")
    save_model(folder, randomize(bilm))
    return str(folder)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return path


def hits(output):
    """The line numbers and sentences that were printed for each query."""
    found = []
    for line in output.splitlines():
        if line.startswith("Closest to: "):
            found.append([])
        else:
            _, number, sentence = line.split(maxsplit=2)
            found[-1].append((int(number), sentence))
    return found


def test_the_sentence_with_the_same_words_in_another_order_is_found(
    text, model, capsys
):
    for layers in ("0", "average"):
        command = [str(text), "--elmo", model, "--layers", layers, "--top", "2"]
        assert search.main([*command, "the rain rose after the river ."]) == 0
        (found,) = hits(capsys.readouterr().out)
        assert {number for number, _ in found} == {1, 4}
    assert search.main([*command, "--center", SENTENCES[2]]) == 0
    (found,) = hits(capsys.readouterr().out)
    assert found[0] == (3, SENTENCES[2])


def test_queries_come_from_standard_input_where_none_is_given(
    text, model, capsys, monkeypatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SENTENCES[5]}\n\n{SENTENCES[4]}\n"))
    assert search.main([str(text), "--elmo", model, "--top", "9"]) == 0
    found = hits(capsys.readouterr().out)
    assert [of_query[0] for of_query in found] == [(6, SENTENCES[5]), (5, SENTENCES[4])]
    assert [len(of_query) for of_query in found] == [5, 5], "the empty line is none"


def test_the_index_is_made_once_and_refused_for_another_text(
    text, model, capsys, monkeypatch
):
    command = [str(text), "--elmo", model, "rain"]
    assert search.main(command) == 0
    first = capsys.readouterr().out
    with monkeypatch.context() as patch:
        patch.setattr(search_index, "embed_corpus", None)
        assert search.main(command) == 0
    assert capsys.readouterr().out == first
    text.write_text("another\n")
    assert search.main(command) == 2
    error = capsys.readouterr().err
    assert "index of another text." in error and error.count("\n") == 1
    assert search.main([*command, "--overwrite"]) == 0
    assert hits(capsys.readouterr().out) == [[(1, "another")]]


def test_an_interrupted_index_goes_on(text, model, capsys, monkeypatch, tmp_path):
    text.write_text("\n".join(SENTENCES * 20))
    small = {"tokens_at_once": 20}
    monkeypatch.setattr(
        search_index, "embed_corpus", lambda *a, **k: embed_corpus(*a, **small, **k)
    )
    expected = tmp_path / "whole.npy"
    written = counted_writes(monkeypatch)
    embed_corpus(Elmo.from_pretrained(model), text, expected, 0, **small)
    n_writes = len(written)
    written.clear()
    command = [str(text), "--elmo", model, "--layers", "0", "rain"]
    with monkeypatch.context() as patch:
        counted_writes(patch, interrupt_at=3)
        assert search.main(command) == 130
    assert not (tmp_path / "text.txt.0.npy").exists()
    assert search.main(command) == 0
    assert len(written) == n_writes, "no batch was written twice"
    assert (tmp_path / "text.txt.0.npy").read_bytes() == expected.read_bytes()


def counted_writes(monkeypatch, interrupt_at=None):
    """A list that grows with each batch that is written, until Ctrl-C is pressed."""
    written, write = [], loop.Loop._write

    def counted(self, *arguments):
        if len(written) + 1 == interrupt_at:
            raise KeyboardInterrupt
        written.append(None)
        write(self, *arguments)

    monkeypatch.setattr(loop.Loop, "_write", counted)
    return written


def test_cosines_are_those_of_the_definition_in_any_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(23, 5)).astype("float32") + 3
    vectors[[2, 11]] = 0
    query = rng.normal(size=5).astype("float32")
    real = np.delete(np.arange(23), [2, 11])
    for center in (False, True):
        mean = vectors[real].mean(axis=0) if center else 0
        rows, q = vectors[real] - mean, query - mean
        cosines = rows @ q / np.linalg.norm(rows, axis=1) / np.linalg.norm(q)
        order = np.argsort(-cosines)
        for rows_at_once in (7, 100):
            monkeypatch.setattr(search_index, "ROWS_AT_ONCE", rows_at_once)
            found, values = SearchIndex(vectors, center).closest(query, 30)
            assert found.tolist() == real[order].tolist()
            np.testing.assert_allclose(values, cosines[order], atol=1e-6)
            found, _ = SearchIndex(vectors, center).closest(query, 4)
            assert found.tolist() == real[order][:4].tolist()


def test_nothing_is_found_among_no_sentences():
    numbers, cosines = SearchIndex(np.zeros((3, 5), "float32"), True).closest(
        np.ones(5, "float32"), 2
    )
    assert len(numbers) == len(cosines) == 0


@pytest.mark.parametrize("layers", ["average", "top", 1])
def test_a_query_has_the_vector_that_the_index_holds(text, model, tmp_path, layers):
    elmo = Elmo.from_pretrained(model)
    embed_corpus(elmo, text, tmp_path / "out.npy", layers)
    rows = np.load(tmp_path / "out.npy")
    for i in (0, 4):
        vector = mean_vector(elmo, SENTENCES[i].split(), layers)
        np.testing.assert_allclose(vector, rows[i], atol=1e-6)


def test_lines_are_read_by_their_number_also_from_gzip(tmp_path):
    content = b"\xef\xbb\xbffirst\r\n\n \xea\xb0\x80 x\nlast"
    (tmp_path / "text.txt").write_bytes(content)
    (tmp_path / "text.gz").write_bytes(gzip.compress(content))
    for name in ("text.txt", "text.gz"):
        with LineIndex(tmp_path / name) as lines:
            assert [lines[i] for i in (3, 0, 2, 1)] == ["last", "first", "가 x", ""]
            assert len(lines) == 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.write_bytes(b"good\nb\xff\n"), "Line 2"),
        (lambda text: text.unlink(), "No such file"),
        (lambda text: text.with_name("text.txt.average.npy").touch(), "another text"),
    ],
)
def test_what_is_wrong_is_told_in_a_line_and_status_2(
    text, model, capsys, change, reason
):
    change(text)
    files = set(text.parent.iterdir())
    assert search.main([str(text), "--elmo", model, "rain"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("elmo_keras.tasks.search: ") and reason in error
    assert error.count("\n") == 1
    assert set(text.parent.iterdir()) == files


def test_wrong_arguments_are_refused(text, model, capsys):
    assert search.main([str(text), "--elmo", model, " "]) == 2
    assert "a token or more" in capsys.readouterr().err
    assert search.main([str(text), "--elmo", model, "a", "--layers", "7"]) == 2
    assert "`layers` should be one of" in capsys.readouterr().err
    assert search.main([str(text), "--elmo", model, "a", "--index", "x.hdf5"]) == 2
    assert "should end in .npy" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        search.main([str(text), "--elmo", model, "--layers", "mix"])
    assert caught.value.code == 2


def test_what_an_index_was_made_of_stands_beside_it(text, model, tmp_path):
    assert search.main([str(text), "--elmo", model, "rain"]) == 0
    note = json.loads((tmp_path / "text.txt.average.npy.json").read_text())
    assert note.keys() == {"text", "model", "layers"}
