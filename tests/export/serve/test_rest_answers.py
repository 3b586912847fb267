import json

import numpy as np
import pytest

from export.serve import wire
from export.serve.wire import encode, joined, json_pieces


def outputs(rows, time=3):
    """Outputs of three shapes, one of them not contiguous."""
    rng = np.random.default_rng(0)
    layers = rng.normal(size=(rows, 2, time + 4, 5)).astype("float32")
    return {
        "layers": layers[:, :, :time],
        "elmo": layers[:, 0, :time] * np.float32(1e-9),
        "sequence_len": np.arange(rows, dtype="int32"),
    }


def read(pieces):
    return json.loads(b"".join(pieces))


@pytest.fixture(params=[1, 7, 16, 64, 2**14])
def piece(request, monkeypatch):
    """Sizes of pieces below, at and above those of rows and vectors."""
    monkeypatch.setattr(wire, "PIECE", request.param)


@pytest.mark.parametrize(("rows", "time"), [(3, 4), (1, 1), (2, 0), (0, 0)])
def test_rows_and_columns_hold_the_values_in_any_pieces(piece, rows, time):
    found, expected = outputs(rows, time), outputs(rows, time)
    columns = read(json_pieces(found, as_columns=True))["outputs"]
    predictions = read(json_pieces(found, as_columns=False))["predictions"]
    assert len(predictions) == rows
    for name, array in expected.items():
        for values in (columns[name], [row[name] for row in predictions]):
            values = np.array(values, array.dtype).reshape(array.shape)
            np.testing.assert_array_equal(values, array)


def test_a_single_output_has_no_name(piece):
    lengths = {"sequence_len": np.array([3, 1], "int32")}
    assert read(json_pieces(lengths, as_columns=False)) == {"predictions": [3, 1]}
    assert read(json_pieces(lengths, as_columns=True)) == {"outputs": [3, 1]}


def test_numbers_that_are_not_finite_are_written_as_tensorflow_serving_does(piece):
    values = {"elmo": np.array([[np.nan, np.inf, -np.inf, 0.1]], "float32")}
    text = b"".join(json_pieces(values, as_columns=True)).decode()
    for word in ("NaN", " Infinity", "-Infinity"):
        assert word in text.replace("[", " ").replace(",", " ")
    found = np.array(json.loads(text)["outputs"], "float32")
    np.testing.assert_array_equal(found, values["elmo"])


def test_strings_are_text_or_coded_bytes(piece):
    strings = np.array([[b"B-PER", "한국".encode()], [b"", b"\xff"]], object)
    found = {"tags": strings, "label": strings[:, 1], "sequence_len": np.array([2, 1])}
    tags = [["B-PER", "한국"], ["", {"b64": "/w=="}]]
    columns = read(json_pieces(found, as_columns=True))["outputs"]
    assert columns["tags"] == tags
    assert columns["label"] == ["한국", {"b64": "/w=="}]
    rows = read(json_pieces(found, as_columns=False))["predictions"]
    assert [row["tags"] for row in rows] == tags
    assert [row["label"] for row in rows] == columns["label"]


def test_pieces_are_joined_to_blocks():
    half = wire.BLOCK // 2
    parts = [b"a" * half, b"b" * half, b"c"] * 3
    found = [*joined(parts)]
    assert b"".join(found) == b"".join(parts) and 3 <= len(found) <= 4
    assert [*joined([b"a", b"b"])] == [b"ab"]


def test_the_end_of_a_large_content_is_written_when_it_is_taken(monkeypatch):
    for name, size in {"PIECE": 1, "BLOCK": 10, "AT_ONCE": 60}.items():
        monkeypatch.setattr(wire, name, size)
    written, dumps = [], wire._dumps
    monkeypatch.setattr(wire, "_dumps", lambda x: written.append(x) or dumps(x))
    found = encode({"sequence_len": np.arange(100)}, as_columns=True)
    assert 60 <= sum(map(len, found.blocks)) < 80 and 0 < len(written) < 50
    text = b"".join([*found.blocks, *found.more])
    assert json.loads(text) == {"outputs": [*range(100)]} and len(written) == 100
    assert encode({"sequence_len": np.arange(3)}, as_columns=False).more is None
