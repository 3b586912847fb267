"""Sentences out of text and Parquet, and pieces of them."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras.embed.text_rows import TextRows, split_pieces

LINES = ["four", "", "five and more", "one", "ends"]


def write_parquet(path, columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_files_of_all_kinds_follow_one_another(tmp_path):
    (tmp_path / "a.txt").write_text("one line \n\nnaïve 한국어")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"zipped\n"))
    paths = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    lists = {"text": [["New York", "."]]}
    paths.append(write_parquet(tmp_path / "c.parquet", lists))
    paths.append(write_parquet(tmp_path / "d.PARQUET", {"x": [1], "text": ["a\nb"]}))
    sentences = [sentence for sentence, _ in TextRows(paths)]
    texts = ["one line", "", "naïve 한국어", "zipped"]
    assert sentences == [*map(str.encode, texts), [b"New York", b"."], b"a\nb"]
    (tmp_path / "e.parquet").write_text("a line")
    only_lines = TextRows([tmp_path / "e.parquet"], only_lines=True)
    assert list(only_lines) == [(b"a line", None)]


@pytest.mark.parametrize("ids", [[7, -(2**63), 0], ["b", "a", "b"]])
def test_rows_have_the_ids_of_the_user(tmp_path, ids):
    columns = {"said": ["a word"] * 3, "key": ids}
    path = write_parquet(tmp_path / "rows.parquet", columns)
    assert list(TextRows([path], "said", "key")) == [(b"a word", i) for i in ids]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [0, 1]}, "has no column `text`. It has: id"),
        ({"text": ["a", None], "id": [0, 1]}, "row 2: `text` should be a string"),
        ({"text": [["a"], ["a", ""]], "id": [0, 1]}, "row 2: .* not empty"),
        ({"text": ["a", "b"], "id": [0, None]}, "row 2: the id `id` should be a str"),
        ({"text": ["a", "b"], "id": pa.array([2**63] * 2, "u8")}, "row 1: the id `id`"),
    ],
)
def test_a_bad_row_is_named(tmp_path, columns, message):
    path = write_parquet(tmp_path / "rows.parquet", columns)
    with pytest.raises(ValueError, match=rf"rows\.parquet.*{message}"):
        list(TextRows([path], "text", "id"))


def test_no_parquet_and_a_long_row_are_named(tmp_path):
    (tmp_path / "no.parquet").write_text("no Parquet")
    with pytest.raises(ValueError, match=r"no\.parquet should be a Parquet file"):
        list(TextRows([tmp_path / "no.parquet"]))
    path = write_parquet(tmp_path / "long.parquet", {"text": ["a" * (2**20 + 1)]})
    with pytest.raises(ValueError, match="more than 1,048,576 bytes"):
        list(TextRows([path]))


def test_a_piece_ends_with_the_sentence_that_reaches_the_size(tmp_path):
    def pieces():
        return list(split_pieces(TextRows(paths), 6))

    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, lines in zip(paths, (LINES[:2], LINES[2:])):
        path.write_text("\n".join(lines) + "\n")
    parts = pieces()
    texts = [[text.decode() for text in piece.texts] for piece in parts]
    assert texts == [["four", ""], ["five and more"], ["one", "ends"]]
    assert [(piece.index, piece.first) for piece in parts] == [(0, 0), (1, 2), (2, 3)]
    fingerprints = [piece.fingerprint for piece in parts]
    assert (
        fingerprints == [piece.fingerprint for piece in pieces()]
        and len(set(fingerprints)) == 3
    )
    paths[0].write_text("four\n\n\n")  # one line more moves all that follow
    assert pieces()[1].fingerprint != fingerprints[1]
    for path in paths:
        path.write_text("")
    (piece,) = pieces()
    assert piece.sentences == [] and piece.index == 0
