"""The REST API, compared with the JSON that TensorFlow Serving documents."""

import base64
import http.client
import io
import json
import socket
import urllib.error
import urllib.request

import pytest

from export.serve import rest_server
from export.serve.rest_api import RestApi
from tests.support import stand_in
from tests.support.serving_requests import text_request
from tests.support.waiting import PATIENCE

PREDICT = "/v1/models/elmo:predict"
MAX_BODY = 2**20  # bytes, the limit of `stand_in.serving`


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = stand_in.save(tmp_path_factory.mktemp("model"), 7)
    with stand_in.serving(directory) as running:
        yield running


@pytest.fixture
def ask(server):
    """Status and body of a request; a body makes it a POST."""

    def ask(path, body=None):
        data = body if body is None or isinstance(body, bytes) else body.encode()
        url = f"http://127.0.0.1:{server.rest_port}{path}"
        try:
            with urllib.request.urlopen(url, data, timeout=PATIENCE) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    return ask


@pytest.fixture
def ask_json(ask):
    def ask_json(path, body=None):
        status, content = ask(path, body)
        return status, json.loads(content)

    return ask_json


def test_rows_go_in_and_out(ask_json):
    status, answer = ask_json(PREDICT, '{"instances": ["a bb", "ccc"]}')
    assert status == 200
    first, second = answer["predictions"]
    assert first["elmo"] == [[1, 1, 2], [2, 3, 4]]
    assert second["elmo"] == [[3, 3, 6], [0, 0, 0]]
    assert [first["sequence_len"], second["sequence_len"]] == [2, 1]
    assert sorted(first) == ["default", "elmo", "layers", "sequence_len", "word_emb"]


def test_rows_with_several_inputs_are_named(ask_json):
    body = """{"signature_name": "tokens", "instances": [
        {"tokens": ["a", "bb"], "sequence_len": 2},
        {"tokens": ["ccc", ""], "sequence_len": 1}]}"""
    status, answer = ask_json(PREDICT, body)
    assert status == 200
    assert answer["predictions"][1]["default"] == [3, 3, 6]


def test_columns_go_in_and_out(ask_json):
    body = """{"signature_name": "tokens", "inputs": {
        "tokens": [["a", "bb"], ["ccc", ""]], "sequence_len": [2, 1]}}"""
    status, answer = ask_json(PREDICT, body)
    assert status == 200
    assert answer["outputs"]["elmo"][0] == [[1, 1, 2], [2, 3, 4]]
    assert answer["outputs"]["sequence_len"] == [2, 1]


@pytest.mark.parametrize("inputs", ['["a bb"]', '{"sentences": ["a bb"]}'])
def test_a_single_input_may_be_named(ask_json, inputs):
    status, answer = ask_json(PREDICT, f'{{"inputs": {inputs}}}')
    assert (status, answer["outputs"]["sequence_len"]) == (200, [2])


@pytest.mark.parametrize("row", ['{"b64": "CODED"}', '{"sentences": {"b64": "CODED"}}'])
def test_strings_may_be_bytes_in_base64(ask_json, row):
    coded = base64.b64encode(b"\xff\xfe\x00 a").decode()
    body = f'{{"instances": [{row.replace("CODED", coded)}]}}'
    status, answer = ask_json(PREDICT, body)
    assert (status, answer["predictions"][0]["elmo"][0][0]) == (200, 3)


def test_text_is_read_as_utf_8(ask_json):
    status, answer = ask_json(PREDICT, '{"instances": ["한국어"]}')
    assert (status, answer["predictions"][0]["elmo"][0][0]) == (200, 9)


def test_a_version_may_be_requested(ask_json):
    body = '{"instances": ["a"]}'
    assert ask_json("/v1/models/elmo/versions/7:predict", body)[0] == 200
    status, answer = ask_json("/v1/models/elmo/versions/8:predict", body)
    assert status == 404 and "Received: 8" in answer["error"]
    assert ask_json("/v1/models/other:predict", body)[0] == 404
    status, answer = ask_json("/v1/models/elmo/labels/stable:predict", body)
    assert status == 400 and "labels" in answer["error"]


def test_the_status_page_equals_that_of_tensorflow_serving(ask_json):
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
    assert ask_json("/v1/models/elmo/versions/7") == (200, expected)
    assert ask_json("/v1/models/elmo/versions/8")[0] == 404
    assert ask_json("/v1/models/other")[0] == 404


def test_the_metadata_page_equals_that_of_tensorflow_serving(ask_json):
    status, answer = ask_json("/v1/models/elmo/metadata")
    assert status == 200
    spec = {"name": "elmo", "signature_name": "", "version": "7"}
    assert answer["model_spec"] == spec
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    text = signatures["serving_default"]["inputs"]["sentences"]
    assert text["dtype"] == "DT_STRING"
    assert text["tensor_shape"] == {"dim": [{"size": "-1"}]}


def test_the_metrics_page_counts_requests_and_batches(ask, ask_json):
    ask_json(PREDICT, '{"instances": ["a"]}')
    status, page = ask("/monitoring/prometheus/metrics")
    lines = page.decode().splitlines()
    labels = 'api="REST",method="predict",model_name="elmo"'
    assert status == 200
    assert any(x.startswith(f"elmo_requests_total{{{labels},status=") for x in lines)
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
    '{"instances": [1]}',
    '{"instances": [null]}',
    '{"instances": [["a"]]}',
    '{"instances": ["a"], "inputs": ["a"]}',
    '{"instances": ["a", {"sentences": "b"}]}',
    '{"instances": [{"other": "a"}]}',
    '{"instances": [{"b64": "?"}]}',
    '{"instances": [{"b64": 1}]}',
    '{"instances": ["a"], "signature_name": "other"}',
    '{"instances": ["a"], "signature_name": 1}',
    '{"instances": ["a"], "signature_name": "tokens"}',
    '{"inputs": {"tokens": [["a"], ["b", "c"]], "sequence_len": [1, 2]}, '
    '"signature_name": "tokens"}',
    '{"inputs": {"tokens": [["a"]], "sequence_len": [true]}, "signature_name": "tokens"}',
    '{"inputs": {"tokens": [["a"]], "sequence_len": [1.5]}, "signature_name": "tokens"}',
    '{"inputs": {"tokens": [["a"]], "sequence_len": [2]}, "signature_name": "tokens"}',
    '{"inputs": {"tokens": [["a"]], "sequence_len": [5000000000]}, '
    '"signature_name": "tokens"}',
    '{"inputs": {"tokens": [["a"]], "sequence_len": [1, 1]}, "signature_name": "tokens"}',
    '{"inputs": {"tokens": [["a"]]}, "signature_name": "tokens"}',
    '{"instances": ["bad"]}',
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
        ("/", None, 400),
        ("/v1/models", None, 400),
        ("/v1/models/elmo:predict", None, 400),
        ("/v1/models/elmo", "{}", 400),
        ("/v1/models/elmo:other", "{}", 400),
        ("/v1/models/elmo/versions/x", None, 400),
        ("/v1/models/elmo/versions/99999999999999999999", None, 400),
        ("/v1/models/elmo:classify", "{}", 501),
        ("/v1/models/elmo:regress", "{}", 501),
    ],
)
def test_other_pages_are_refused(ask_json, path, body, status):
    found, answer = ask_json(path, body)
    assert (found, set(answer)) == (status, {"error"})


def test_a_body_that_is_too_large_is_refused(ask):
    assert ask(PREDICT, b" " * (MAX_BODY - 1))[0] == 400  # read, but no JSON
    assert ask(PREDICT, b" " * MAX_BODY)[0] == 413
    # More than the buffers of a connection: the client is still writing.
    assert ask(PREDICT, b" " * 32 * MAX_BODY)[0] == 413


def test_chunks_that_are_too_large_together_are_refused(server):
    address = "127.0.0.1", server.rest_port
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
    chunks = (b" " * 2**16 for _ in range(512))
    connection.request("POST", PREDICT, chunks, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_a_client_that_asks_first_is_refused_before_it_writes(server):
    address = "127.0.0.1", server.rest_port
    with socket.create_connection(address, PATIENCE) as connection:
        connection.sendall(
            f"POST {PREDICT} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            f"Content-Length: {32 * MAX_BODY}\r\n\r\n".encode()
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_body_without_an_end_is_not_read_for_ever(server, monkeypatch):
    monkeypatch.setattr(rest_server, "MAX_DISCARDED_BYTES", 2 * MAX_BODY)
    address = "127.0.0.1", server.rest_port
    with socket.create_connection(address, PATIENCE) as connection:
        head = f"POST {PREDICT} HTTP/1.1\r\nHost: x\r\nContent-Length: {10**12}\r\n"
        connection.sendall(f"{head}\r\n".encode())
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                connection.sendall(b" " * MAX_BODY)


def test_a_request_that_waits_too_long_is_dropped(server, monkeypatch):
    def start_response(status, headers):
        statuses.append(status)

    statuses = []
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": PREDICT,
        "wsgi.input": io.BytesIO(b'{"instances": ["a"]}'),
    }
    with (
        stand_in.asking(server) as stub,
        stand_in.closed_gate(server, monkeypatch) as gate,
    ):
        busy = [stub.Predict.future(text_request(["a"], k)) for k in ("elmo", "layers")]
        gate.wait_for(2)
        (body,) = RestApi(server.models, timeout=0.05)(environ, start_response)
        gate.open()
        for call in busy:
            call.result()
    assert statuses == ["504 Gateway Timeout"]
    assert "waited" in json.loads(body)["error"]
