"""A worker writes pieces as parts, each whole or not at all."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras import Elmo, embed_corpus
from elmo_keras.embed import arrow_rows, parts
from elmo_keras.embed.on_ray.piece_worker import PieceWorker, note_of
from elmo_keras.embed.text_rows import Piece

LINES = ["a word", "", "three words here", "naïve 한국어 🙂"]
PIECE = Piece(3, 100, [line.encode() for line in LINES])


def test_a_part_has_the_rows_of_the_file_command(worker, folder, settings, tmp_path):
    note = {"number": 3, "digest": PIECE.digest, "sentences": 4, "tokens": 8}
    assert worker.write(PIECE) == note | {"again": False}
    assert note_of(folder.part(3)) == note
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    elmo, path = Elmo.from_pretrained(settings["model"]), tmp_path / "text.parquet"
    kinds = {name: value for name, value in settings.items() if name != "model"}
    embed_corpus(elmo, tmp_path / "text.txt", path, **kinds)
    found, wanted = pq.read_table(folder.part(3)), pq.read_table(path)
    assert found.schema.equals(wanted.schema)
    abouts = (json.loads(t.schema.metadata[b"elmo_keras"]) for t in (found, wanted))
    assert next(abouts) == next(abouts)
    assert found["id"].to_pylist() == [100, 101, 102, 103]
    assert found["text"].to_pylist() == LINES
    vectors = (table["vector"].to_pylist() for table in (found, wanted))
    np.testing.assert_allclose(*vectors, atol=1e-6)


def test_the_ids_of_the_user_stand_beside_the_numbers(worker, folder):
    ids = ["b", "a", "c", "d"]
    worker.write(PIECE._replace(ids=ids, id_type="string"))
    table = pq.read_table(folder.part(3))
    assert table.schema.names == ["id", "number", "text", "vector"]
    assert table["id"].to_pylist() == ids and table["number"].to_pylist()[0] == 100


def test_a_piece_that_a_process_had_begun_is_written_once_and_counted(worker, folder):
    for number in 3, 4:
        path = folder.path / "begun" / f"{folder.part(number).name}.1"
        path.write_bytes(b"half a part")
    assert worker.write(PIECE)["again"]
    assert worker.write(PIECE)["again"] is False
    assert [path.name for path in folder.parts_from(0)] == ["part-0000003.parquet"]
    assert not folder.begun(3) and len(folder.begun(4)) == 1


def test_a_part_that_cannot_be_written_is_not_there(worker, folder, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(parts.os, "fsync", full)
        worker.write(PIECE)
    assert not folder.parts_from(0) and not folder.begun(3)
    assert not worker.write(PIECE)["again"]


def test_a_part_is_not_written_into_another_job(worker, folder, monkeypatch):
    whole = arrow_rows.Rows.write

    def meanwhile(*arguments):
        folder.discard()
        folder.open(worker.identity() | {"layers": "1"})
        (folder.path / "begun").mkdir(exist_ok=True)
        return whole(*arguments)

    monkeypatch.setattr(arrow_rows.Rows, "write", meanwhile)
    with pytest.raises(ValueError, match="made with layers 1; this run has top"):
        worker.write(PIECE)
    assert not folder.parts_from(0)


def test_a_worker_that_does_not_see_the_folder_says_so(loaded, settings, tmp_path):
    worker = PieceWorker(tmp_path / "elsewhere", settings, texts=True)
    worker._embedder, worker._identity = loaded._embedder, loaded._identity
    with pytest.raises(ValueError, match="should be a folder that all workers share"):
        worker.write(PIECE)


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more"])
def test_a_damaged_part_is_none(tmp_path, content):
    path = tmp_path / "part"
    assert note_of(path) is None
    path.write_bytes(content)
    assert note_of(path) is None
    pq.write_table(pa.table({"id": [1]}), path)  # of somebody else
    assert note_of(path) is None
