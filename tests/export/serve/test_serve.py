"""The command that serves, and a server under load and in trouble."""

import contextlib
import itertools
import os
import signal
import socket
import time

import grpc
import numpy as np
import pytest
import stand_in
from serving_load import Load
from serving_requests import text_request
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from export import serve

Code = grpc.StatusCode


def words(*first):
    """Sentences of a client: the same beginning, then what no other one has."""

    def sentences(client):
        for i in itertools.count():
            yield [*first, "x" * (client + 1), *"y" * (i % 7)]

    return sentences


SHORT = words("w")


def load(port, sentences=SHORT, clients=8, **kwargs):
    return Load(port, sentences, stand_in.vectors, clients, **kwargs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty"], "should hold a version"),
        (["missing"], "missing"),
        (["model", "--port", "TAKEN"], "--port"),
        (["model", "--rest-port", "TAKEN"], "in use"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(tmp_path, capsys, arguments, message):
    (tmp_path / "empty").mkdir()
    stand_in.save(tmp_path / "model")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        directory, *rest = [port if a == "TAKEN" else a for a in arguments]
        free = ["--port=0", "--rest-port=0"]
        with kept_signals():
            assert serve.main([str(tmp_path / directory), *free, *rest]) == 2
    told = capsys.readouterr().err.splitlines()
    assert message in told[-1] and told[-1].startswith("export.serve: ")


@contextlib.contextmanager
def kept_signals():
    """Puts the handlers back that a run of the command replaces."""
    signals = signal.SIGINT, signal.SIGTERM
    before = [signal.getsignal(s) for s in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before):
            signal.signal(number, handler)


@pytest.mark.parametrize(
    "argument", ["--port=70000", "--max-batch-size=0", "--grace-seconds=-1"]
)
def test_numbers_out_of_their_range_are_refused(argument, capsys):
    with pytest.raises(SystemExit) as caught:
        serve.main(["models", argument])
    assert caught.value.code == 2
    assert "should be" in capsys.readouterr().err


def test_a_server_listens_on_loopback_only_unless_told_otherwise(tmp_path):
    assert serve.ServerOptions().host == "127.0.0.1"
    with stand_in.serving(stand_in.save(tmp_path)) as server:
        for port in (server.port, server.rest_port):
            with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port)):
                pass


@pytest.mark.slow
def test_a_version_changes_under_load_without_a_lost_request(tmp_path):
    directory = stand_in.save(tmp_path, 1, scale=1)
    with (
        stand_in.serving(directory, poll_seconds=0.05) as server,
        load(server.port) as clients,
    ):
        for version in (2, 3):
            clients.wait_for(50)
            stand_in.save(tmp_path / "new", version, scale=version)
            os.rename(tmp_path / f"new/{version}", directory / str(version))
            while not clients.answers[version]:
                time.sleep(0.01)
        clients.wait_for(50)
    assert not clients.wrong and not clients.refusals
    assert set(clients.answers) == {1, 2, 3}


@pytest.mark.slow
def test_requests_under_way_are_answered_after_sigterm(tmp_path):
    stand_in.save(tmp_path)
    with stand_in.serving_process(tmp_path) as (process, line, port):
        assert line.startswith("Serving version 1 of elmo on 127.0.0.1")
        with load(port, words(*["slow"] * 20), until_refused=True) as clients:
            clients.wait_for(30)
            process.send_signal(signal.SIGTERM)
            clients.join()
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()
    assert not clients.wrong
    assert set(clients.refusals) == {Code.UNAVAILABLE}


@pytest.mark.slow
def test_a_queue_that_is_full_refuses_and_answers_the_others(tmp_path):
    directory = stand_in.save(tmp_path)
    options = {"max_enqueued_requests": 2, "max_batch_size": 1}
    with stand_in.serving(directory, **options) as server:
        with load(server.port, words(*["slow"] * 10), 16) as clients:
            clients.wait_for(100)
            while not clients.refusals:
                time.sleep(0.01)
        assert not clients.wrong and set(clients.refusals) == {Code.RESOURCE_EXHAUSTED}
        with load(server.port, clients=1) as clients:
            clients.wait_for(10)
        assert not clients.wrong and not clients.refusals


@pytest.mark.slow
def test_clients_that_hang_up_harm_no_one(tmp_path):
    with stand_in.serving(stand_in.save(tmp_path)) as server:
        with load(server.port, words(*["slow"] * 3), 4) as clients:
            for i in range(40):
                if i % 2:
                    hang_up_on_grpc(server.port)
                else:
                    hang_up_on_rest(server.rest_port)
            clients.wait_for(20)
        assert not clients.wrong and not clients.refusals
        assert not len(server.model.batcher)


def hang_up_on_grpc(port):
    """Cancels a request at some time while it is on its way or computed."""
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        stub = PredictionServiceStub(channel)
        stub.Predict(text_request(["a"]))
        call = stub.Predict.future(text_request([" ".join(["slow"] * 20)]))
        time.sleep(np.random.default_rng().uniform(0, 0.03))
        call.cancel()


def hang_up_on_rest(port):
    """Closes the connection in the midst of a request, or right behind it."""
    body = b'{"instances": ["slow slow slow"]}'
    head = f"POST /v1/models/elmo:predict HTTP/1.1\r\nContent-Length: {len(body)}"
    content = head.encode() + b"\r\nHost: x\r\n\r\n" + body
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(content[: np.random.default_rng().integers(len(content))])
        connection.sendall(b"" if time.time_ns() % 2 else content)
