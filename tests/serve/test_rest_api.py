"""The REST API, compared with the JSON that TensorFlow Serving documents."""

import gzip
import json

import numpy as np
import pytest

from elmo_keras.serve import rest_json
from elmo_keras.serve.rest_json import encode
from tests.support.rest_clients import PREDICT, STATUS, ask

MAX_BODY = 2**20  # bytes, the limit of `stand_in.serving`


@pytest.fixture
def ask_json(server):
    """Status and JSON of a request; a body makes it a POST."""

    def ask_json(path, body=None, **headers):
        data = body.encode() if isinstance(body, str) else body
        reply = ask(server.rest_port, path, data, headers=headers)
        return reply.status, json.loads(reply.content)

    return ask_json


TOKENS = '"signature_name": "tokens"'
VECTORS = {"elmo": [[1, 1, 2], [2, 3, 4]]}
FORMS = [
    (
        '{"instances": [{"tokens": ["a", "bb"], "sequence_len": 2}, '
        f'{{"tokens": ["ccc", ""], "sequence_len": 1}}], {TOKENS}}}',
        VECTORS | {"default": [1.5, 2.0, 3.0]},
    ),
    (
        '{"inputs": {"tokens": [["a", "bb"], ["ccc", ""]], "sequence_len": [2, 1]}, '
        f"{TOKENS}}}",
        VECTORS | {"sequence_len": 2},
    ),
    ('{"inputs": ["a bb"]}', VECTORS),
    # The bytes FF FE 00 20 61, with or without padding and lines.
    *(
        (form % coded, {"elmo": [[3, 3, 6], [1, 4, 2]], "sequence_len": 2})
        for form, coded in (
            ('{"instances": [{"b64": "%s"}]}', "//4AIGE="),
            ('{"instances": [{"b64": "%s"}]}', "//4A\\nIGE=\\n"),
            ('{"instances": [{"sentences": {"b64": "%s"}}]}', "//4AIGE"),
        )
    ),
    ("\ufeff" + '{"instances": ["a bb"]}', VECTORS),
    ('{"instances": ["한국어"]}', {"elmo": [[9, 9, 18]]}),
    ('{"inputs": {"sentences": ["a bb"], "other": 1}, "context": [1]}', VECTORS),
]


@pytest.mark.parametrize(("body", "expected"), FORMS)
def test_inputs_may_be_named_coded_and_in_rows_or_columns(ask_json, body, expected):
    status, answer = ask_json(PREDICT, body)
    assert status == 200
    rows = answer.get("predictions")
    actual = rows[0] if rows else {k: v[0] for k, v in answer["outputs"].items()}
    assert {name: actual[name] for name in expected} == expected
    assert sorted(actual) == ["default", "elmo", "layers", "sequence_len", "word_emb"]


def test_the_status_page_equals_that_of_tensorflow_serving(server, ask_json):
    expected = {
        "model_version_status": [
            {
                "version": "7",
                "state": "AVAILABLE",
                "status": {"error_code": "OK", "error_message": ""},
            }
        ]
    }
    assert ask_json("/v1/models/elmo") == (200, expected)
    assert b'"state": "AVAILABLE",\n' in ask(server.rest_port, STATUS).content
    assert ask_json("/v1/models/elmo/versions/7") == (200, expected)
    body = '{"instances": ["a"]}'
    assert ask_json("/v1/models/elmo/versions/7:predict", body)[0] == 200


def test_the_metadata_page_equals_that_of_tensorflow_serving(ask_json):
    status, answer = ask_json("/v1/models/elmo/metadata")
    assert status == 200
    spec = {"name": "elmo", "signature_name": "", "version": "7"}
    assert answer["model_spec"] == spec
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    text = signatures["serving_default"]["inputs"]["sentences"]
    assert text["dtype"] == "DT_STRING"
    dim = {"size": "-1", "name": ""}
    assert text["tensor_shape"] == {"dim": [dim], "unknown_rank": False}
    assert signatures["serving_default"]["defaults"] == {}


def test_the_metrics_page_counts_requests_and_batches(server, ask_json):
    ask_json(PREDICT, '{"instances": ["a"]}')
    page = ask(server.rest_port, "/monitoring/prometheus/metrics")
    lines = page.content.decode().splitlines()
    assert page.status == 200
    assert any(x.startswith("elmo_batch_rows_count") for x in lines)
    assert "elmo_waiting_requests 0.0" in lines
    assert any(x.startswith(":tensorflow:serving:request_count{") for x in lines)
    labels = 'API="predict",entrypoint="REST",le="10.0",model_name="elmo"'
    latency = ":tensorflow:serving:request_latency_bucket"
    assert any(x.startswith(f"{latency}{{{labels}}}") for x in lines)


WRONG = [
    "",
    "{",
    "[]",
    "[" * 100_000,
    "{}",
    '{"instances": []}',
    '{"instances": "a"}',
    '{"instances": [null]}',
    '{"instances": [["a"]]}',
    '{"instances": ["a"], "inputs": ["a"]}',
    '{"instances": ["a", {"sentences": "b"}]}',
    '{"instances": [{"other": "a"}]}',
    '{"instances": [{"b64": "?"}]}',
    '{"instances": [{"b64": 1}]}',
    '{"instances": ["a"], "signature_name": 1}',
    '{"instances": ["a"], "signature_name": "tokens"}',
    f'{{"inputs": {{"tokens": [["a"], ["b", "c"]], "sequence_len": [1, 2]}}, {TOKENS}}}',
    f'{{"inputs": {{"tokens": [["a"]]}}, {TOKENS}}}',
    *(
        f'{{"inputs": {{"tokens": [["a"]], "sequence_len": {lengths}}}, {TOKENS}}}'
        for lengths in ("[true]", "[1.5]", "[2]", "[5000000000]")
    ),
    '{"instances": ["bad"]}',
    '{"instances": [{"sentences": "a", "other": 1}]}',
    b"\xff\xfe",
]


@pytest.mark.parametrize("body", WRONG, ids=lambda body: str(body)[:40])
def test_a_malformed_request_is_a_400_that_says_why(ask_json, body):
    status, answer = ask_json(PREDICT, body)
    assert status == 400
    assert set(answer) == {"error"} and answer["error"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/", None, 404),
        ("/%0a", None, 404),
        ("/v1/%0d%0a", None, 400),
        ("/v1/models/elmo:other", "{}", 400),
        ("/v1/models/elmo:classify", "{}", 501),
        ("/v1/models", None, 400),
        ("/v1/models/elmo:predict", None, 400),
        ("/v1/models/elmo", "{}", 400),
        ("/v1/models/elmo/versions/%D9%A3", None, 400),
        ("/v1/models/elmo/versions/8:predict", "{}", 404),
        ("/v1/models/elmo/labels/x:predict", "{}", 400),
        ("/v1/models/other:predict", "{}", 404),
        ("/v1/models/other", None, 404),
        (f"/v1/models/elmo/versions/{2**63}", None, 400),
        ("/v1/models/%FF", None, 404),
    ],
)
def test_other_pages_are_refused(ask_json, path, body, status):
    actual_status, answer = ask_json(path, body)
    assert (actual_status, set(answer)) == (status, {"error"})
    assert len(answer["error"]) <= 1000


def test_a_body_that_is_too_large_is_refused(ask_json):
    assert ask_json(PREDICT, b" " * MAX_BODY)[0] == 400  # read, but no JSON
    status, answer = ask_json(PREDICT, b" " * (MAX_BODY + 1))
    assert status == 413 and f"at most {MAX_BODY} bytes" in answer["error"]
    # More than the buffers of a connection: the client is still writing.
    assert ask_json(PREDICT, b" " * 32 * MAX_BODY)[0] == 413
    assert ask_json(PREDICT, (b" " * 2**16 for _ in range(512)))[0] == 413  # in chunks


def test_a_body_may_be_compressed(ask_json):
    body = gzip.compress(b'{"instances": ["a bb"]}')
    headers = {"Content-Encoding": "gzip"}
    assert ask_json(PREDICT, body, **headers)[0] == 200
    status, answer = ask_json(PREDICT, gzip.compress(b" " * 2 * MAX_BODY), **headers)
    assert (status, set(answer)) == (413, {"error"})
    assert ask_json(PREDICT, gzip.compress(b"") + body, **headers)[0] == 200
    for damaged in b"x" + body, body[:-1], body[:-8], body[:-8] + bytes(8):
        status, answer = ask_json(PREDICT, damaged, **headers)
        assert status == 400 and "complete, plain or in gzip" in answer["error"]


def read(pieces):
    return json.loads(b"".join(pieces))


@pytest.fixture(params=[1, 7, 64, 2**14])
def piece(request, monkeypatch):
    """Sizes of pieces below, at and above those of rows and vectors."""
    monkeypatch.setattr(rest_json, "PIECE", request.param)


@pytest.mark.parametrize(("rows", "time"), [(3, 4), (1, 1), (2, 0), (0, 0)])
def test_rows_and_columns_hold_the_values_in_any_pieces(piece, rows, time):
    rng = np.random.default_rng(0)
    layers = rng.normal(size=(rows, 2, time + 4, 5)).astype("float32")
    outputs = {
        "layers": layers[:, :, :time],  # not contiguous
        "elmo": layers[:, 0, :time] * np.float32(1e-9),
        "sequence_len": np.arange(rows, dtype="int32"),
    }
    columns = read(encode(outputs, as_columns=True))["outputs"]
    predictions = read(encode(outputs, as_columns=False))["predictions"]
    assert len(predictions) == rows
    for name, array in outputs.items():
        for values in (columns[name], [row[name] for row in predictions]):
            values = np.array(values, array.dtype).reshape(array.shape)
            np.testing.assert_array_equal(values, array)


def test_names_numbers_and_strings_are_written_as_by_tensorflow_serving(piece):
    lengths = {"sequence_len": np.array([3, 1], "int32")}
    assert read(encode(lengths, as_columns=False)) == {"predictions": [3, 1]}
    values = np.array([[np.nan, np.inf, -np.inf, 0.1]], "float32")
    text = b"".join(encode({"elmo": values}, as_columns=True)).decode()
    assert "NaN,Infinity,-Infinity,0.1" in text.replace(" ", "").replace("\n", "")
    strings = np.array([[b"B-PER", "한국".encode()], [b"", b"\xff"]], object)
    outputs = {
        "tags": strings,
        "label": strings[:, 1],
        "sequence_len": np.array([2, 1]),
    }
    tags, labels = [["B-PER", "한국"], ["", {"b64": "/w=="}]], ["한국", {"b64": "/w=="}]
    columns = read(encode(outputs, as_columns=True))["outputs"]
    rows = read(encode(outputs, as_columns=False))["predictions"]
    assert columns["tags"] == tags == [row["tags"] for row in rows]
    assert columns["label"] == labels == [row["label"] for row in rows]
