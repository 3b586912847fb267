"""The command that serves, and a server under load and with faulty clients."""

import itertools
import os
import signal
import socket
import sys
import threading
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from elmo_keras.serve import command as serving
from elmo_keras.serve.config import Config
from elmo_keras.serve.optimized_graph import optimized
from tests.support import stand_in
from tests.support.commands import command
from tests.support.serving_load import Load
from tests.support.serving_requests import text_request
from tests.support.waiting import PATIENCE, wait_until

Code = grpc.StatusCode


def load(port, *first, **kwargs):
    """Clients whose sentences have the words `first`, then words of their own."""

    def sentences(client):
        for i in itertools.count():
            yield [*first, "x" * (client + 1), *"y" * (i % 7)]

    return Load(port, sentences, stand_in.vectors, **kwargs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty"], "should hold a version"),
        (["model/1"], "It is itself a version: give"),
        (
            ["model/1/saved_model.pb"],
            "should be a folder of versions or a .tflite file",
        ),
        (["missing"], "missing"),
        (["empty", "--port", "TAKEN"], "--port TAKEN of --host 127.0.0.1: Address alr"),
        (["empty", "--rest-port", "TAKEN"], "in use"),  # before anything is loaded
        (["model", "--host", "no.such.host.invalid"], "--host no.such.host.invalid"),
    ],
)
def test_an_error_is_one_line_and_status_2(tmp_path, capsys, arguments, message):
    (tmp_path / "empty").mkdir()
    stand_in.save(tmp_path / "model")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        directory, *rest = [port if a == "TAKEN" else a for a in arguments]
        free = [f"--{p}=0" for p in ("port", "rest-port") if f"--{p}" not in rest]
        assert command("serve")([str(tmp_path / directory), *free, *rest]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message.replace("TAKEN", port) in error
    assert error.startswith("elmo-keras serve: ")


def test_numbers_out_of_their_range_are_refused(capsys):
    wrong = "--port=70000 --max-batch-size=0 --grace-seconds=-1 --rest-header-timeout=0"
    for argument in wrong.split():
        assert command("serve")(["models", argument]) == 2
        assert "Must be" in capsys.readouterr().err


def test_a_server_starts_without_the_private_module_of_the_optimiser(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "tensorflow.python.grappler", None)
    directory = stand_in.save(tmp_path)
    with optimized(directory / "1") as folder:
        assert folder == directory / "1"
    with stand_in.serving(directory) as server, stand_in.asking(server) as stub:
        assert stub.Predict(text_request(["a"])).outputs


def test_by_default_a_server_listens_on_loopback_only(tmp_path):
    assert Config().host == "127.0.0.1"
    with stand_in.serving(stand_in.save(tmp_path)) as server:
        for port in (server.port, server.rest_port):
            with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port)):
                pass


@pytest.mark.slow
def test_a_version_changes_under_load_without_a_lost_request(tmp_path):
    directory = stand_in.save(tmp_path, 1, scale=1)
    with (
        stand_in.serving(directory, poll_seconds=0.05) as server,
        load(server.port, "w") as clients,
    ):
        for version in (2, 3):
            clients.wait_for(50)
            stand_in.save(tmp_path / "new", version, scale=version)
            os.rename(tmp_path / f"new/{version}", directory / str(version))
            wait_until(lambda v=version: clients.answers[v])
        clients.wait_for(50)
    assert not clients.wrong and not clients.refusals
    assert set(clients.answers) == {1, 2, 3}


def test_closing_answers_requests_that_are_computed_or_wait(tmp_path, monkeypatch):
    texts, one = ["a bb", "ccc", "d"], {"num_batch_threads": 1, "max_batch_size": 1}
    with (
        stand_in.serving(stand_in.save(tmp_path), **one) as server,
        stand_in.asking(server) as stub,
        stand_in.closed_gate(server, monkeypatch) as gate,
    ):
        requests = [text_request([text], "elmo") for text in texts]
        calls = [stub.Predict.future(request, PATIENCE) for request in requests]
        gate.wait_for(1)
        wait_until(lambda: len(server.models.batcher) == 2)
        closing = threading.Thread(target=server.close, args=(PATIENCE,))
        closing.start()
        wait_until(lambda: server.models.batcher._closed)
        with stand_in.refused(Code.UNAVAILABLE, "shutting down"):
            stub.Predict(text_request(["late"], "elmo"))
        assert not any(call.done() for call in calls)
        gate.open()
        for text, call in zip(texts, calls, strict=True):
            vectors = tf.make_ndarray(call.result().outputs["elmo"])[0]
            np.testing.assert_array_equal(vectors, stand_in.vectors(text.split()))
        closing.join(PATIENCE)
        assert not closing.is_alive()


@pytest.mark.slow
def test_accepted_requests_are_answered_after_sigterm(tmp_path):
    stand_in.save(tmp_path)
    grace = f"--grace-seconds={PATIENCE}"
    with stand_in.serving_process(tmp_path, grace) as (process, line, port):
        assert line.startswith("Serving version 1 of elmo on 127.0.0.1")
        with load(port, *["slow"] * 20, until_refused=True) as clients:
            clients.wait_for(30)
            process.send_signal(signal.SIGTERM)
            clients.join()
        assert process.wait(PATIENCE) == 0
        assert "Traceback" not in process.stderr.read()
    assert not clients.wrong
    assert set(clients.refusals) == {Code.UNAVAILABLE}


@pytest.mark.slow
def test_clients_that_hang_up_do_not_affect_others(tmp_path):
    with stand_in.serving(stand_in.save(tmp_path)) as server:
        with load(server.port, *["slow"] * 3, clients=4) as clients:
            for _ in range(20):
                hang_up_on_grpc(server.port)
                hang_up_on_rest(server.rest_port)
            clients.wait_for(20)
        assert not clients.wrong and not clients.refusals
        assert not len(server.models.batcher)


def hang_up_on_grpc(port):
    """Cancels a request while it is sent, waits or is computed."""
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        stub = PredictionServiceStub(channel)
        stub.Predict(text_request(["a"]))
        call = stub.Predict.future(text_request([" ".join(["slow"] * 20)]))
        time.sleep(np.random.default_rng().uniform(0, 0.03))
        call.cancel()


def hang_up_on_rest(port):
    """Closes the connection within a request, or right after it."""
    body = b'{"instances": ["slow slow slow"]}'
    head = f"POST /v1/models/elmo:predict HTTP/1.1\r\nContent-Length: {len(body)}"
    content = head.encode() + b"\r\nHost: x\r\n\r\n" + body
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(content[: np.random.default_rng().integers(len(content))])
        connection.sendall(b"" if time.time_ns() % 2 else content)


@pytest.mark.slow  # a model is exported
def test_a_name_of_the_package_is_exported_once_and_served(
    model_directory, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(serving, "BOX", model_directory.parent)
    monkeypatch.setenv("ELMO_KERAS_CACHE", str(tmp_path))
    served = []
    monkeypatch.setattr(serving, "run_server", lambda models, _: served.extend(models))
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert command("serve")([model_directory.name]) == 0
    first, second = served
    assert first.directory == second.directory and (first.directory / "1").is_dir()
    assert capsys.readouterr().err.count("Exporting lm, once.") == 1
