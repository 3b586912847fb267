"""The REST server's limits of time, memory and waiting requests, and its end."""

import contextlib
import http.client
import json
import socket
import threading

import grpc
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc

from elmo_keras.serve import rest_json
from elmo_keras.serve.config import Config
from elmo_keras.serve.grpc_server import SERVICES
from elmo_keras.serve.rest import RestServer
from tests.support import stand_in
from tests.support.rest_clients import (
    HEAD,
    PREDICT,
    STATUS,
    Posts,
    ask,
    open_connections,
    text_body,
)
from tests.support.waiting import PATIENCE, wait_until

Code = grpc.StatusCode
BODY = text_body(1, 2)
WHOLE = f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n{BODY.decode()}"
WITHOUT_END = f"{HEAD}Content-Length: 1000\r\n\r\n{{"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A served model without a server of its own for REST."""
    directory = stand_in.save(tmp_path_factory.mktemp("model"))
    options = {"num_batch_threads": 1, "max_batch_size": 1, "max_enqueued_requests": 3}
    with stand_in.serving(directory, **options) as server:
        yield server


@pytest.fixture
def rest(model):
    """Makes further REST servers of the model."""
    with contextlib.ExitStack() as stack:

        def start(megabytes=1, **limits):
            limits = {"timeout": PATIENCE, "body_timeout": PATIENCE} | limits
            limits = {f"rest_{name}": limit for name, limit in limits.items()}
            config = Config(rest_port=0, max_message_mb=megabytes, **limits)
            server = RestServer(model.models, config)
            stack.callback(server.close)
            return server

        yield start


@pytest.fixture
def gate(model, monkeypatch):
    with stand_in.closed_gate(model, monkeypatch) as gate:
        yield gate


def received(connection):
    """The bytes that the server sends until it closes a connection."""
    connection.settimeout(PATIENCE)
    with contextlib.suppress(ConnectionError):
        return connection.makefile("rb").read()


def in_use(model):
    """The number of requests that keep a version loaded."""
    return sum(model.models["elmo"]._uses.values())


def test_malformed_http_is_answered_as_all_else(rest):
    with open_connections(rest().port, 1, "GARBAGE\r\n\r\n") as (connection,):
        answer = received(connection)
    head, _, content = answer.partition(b"\r\n\r\n")
    assert b"Server: elmo-keras" in head and b"aiohttp" not in answer
    assert "Malformed HTTP" in json.loads(content)["error"]


def test_what_does_not_come_in_time_closes_the_connection(rest):
    server = rest(header_timeout=0.2, body_timeout=0.2)
    with open_connections(server.port, 1, HEAD + "X-Slow: a") as (connection,):
        assert not received(connection)
    with open_connections(server.port, 1, WITHOUT_END) as (connection,):
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 408 ") and b"Received: 1 bytes" in answer


def test_a_client_that_does_not_read_its_answer_is_given_up(rest):
    server = rest(body_timeout=0.2, megabytes=64)
    server._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**11)
    body = text_body(60, 700)  # an answer of several blocks

    def is_reset():  # without reading, only writing shows it
        try:
            connection.sendall(b"x")
        except OSError:
            return True
        return False

    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**11)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", server.port))
        head = f"{HEAD}Content-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        wait_until(is_reset)


def test_a_large_answer_is_sent_while_it_is_written(rest, monkeypatch):
    body, server = text_body(20, 100), rest()
    whole = ask(server.port, PREDICT, body)
    monkeypatch.setattr(rest_json, "BLOCK", 1000)
    monkeypatch.setattr("elmo_keras.serve.rest.BLOCK", 1000)
    request = f"{HEAD}Content-Length: {len(body)}\r\n\r\n{body.decode()}"
    with open_connections(server.port, 1, request) as (connection,):
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.headers["Content-Length"] is None
        assert response.read() == whole.content
    assert int(whole.headers["Content-Length"]) == len(whole.content) > 100_000


def test_requests_wait_in_a_bounded_queue_and_probes_are_answered(rest, gate):
    server = rest()
    posts = Posts(server.port, BODY, 40)
    wait_until(lambda: len(posts.replies) == 36)  # one is computed, three wait
    assert {reply.status for reply in posts.replies} == {429}
    for page in STATUS, f"{STATUS}/metadata", "/monitoring/prometheus/metrics":
        assert ask(server.port, page).status == 200
    gate.open()
    assert posts.join() == {429: 36, 200: 4}


def test_a_request_that_takes_too_long_is_a_504_also_while_it_is_computed(
    rest, model, gate
):
    server = rest(timeout=0.2)
    posts = Posts(server.port, BODY, 3)
    assert posts.join() == {504: 3}
    assert b"waited for 0.2 seconds" in posts.replies[0].content
    assert len(gate.batches) == 1
    gate.open()
    wait_until(lambda: not len(model.models.batcher))
    assert ask(server.port, PREDICT, BODY).status in (200, 504)


def test_a_client_that_leaves_takes_its_request_along(rest, model, gate):
    server = rest()
    with open_connections(server.port, 1, WHOLE):
        gate.wait_for(1)  # the queue has room for three more
        for _ in range(3):
            with open_connections(server.port, 3, WHOLE) as connections:
                wait_until(lambda: in_use(model) == 4)
                for connection in connections:
                    connection.close()
                wait_until(lambda: in_use(model) == 1)
    # The requests of clients that left make room for another.
    assert Posts(server.port, BODY, 1, timeout=0.2).join() == {"TimeoutError": 1}
    assert len(gate.batches) == 1


def test_an_error_of_the_model_is_a_500_whose_reason_is_in_the_log_alone(
    rest, model, monkeypatch, caplog
):
    def run(*_, **__):
        raise MemoryError("/srv/secret is too large")

    server = rest()
    with model.models["elmo"].lease() as servable, monkeypatch.context() as patch:
        patch.setattr(servable, "run", run)
        reply = ask(server.port, PREDICT, BODY)
    assert reply.status == 500 and b"MemoryError" in reply.content
    assert b"secret" not in reply.content and "/srv/secret" in caplog.text
    wait_until(lambda: not in_use(model))
    assert ask(server.port, PREDICT, BODY).status == 200  # by the same thread


def test_browsers_are_answered_if_asked_for(rest):
    allowed = "Access-Control-Allow-Origin"
    plain, cors = rest(), rest(cors=True)
    reply = ask(cors.port, PREDICT, method="OPTIONS")
    assert (reply.status, reply.content, reply.headers[allowed]) == (200, b"", "*")
    assert ask(cors.port, PREDICT, b"{").headers[allowed] == "*"
    reply = ask(plain.port, PREDICT, method="OPTIONS")
    assert reply.status == 400 and allowed not in reply.headers


def test_the_end_of_a_server_closes_its_connections_and_leaves_no_thread(rest, model):
    before = set(threading.enumerate())
    server = rest()
    with open_connections(server.port, 1, WITHOUT_END) as (connection,):
        wait_until(lambda: model.models.held)
        server.close()
        received(connection)
    server.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    wait_until(lambda: set(threading.enumerate()) <= before)


@pytest.mark.parametrize(
    ("grace", "status", "code"),
    [(PATIENCE, 200, Code.OK), (0.1, 503, Code.UNAVAILABLE)],
)
def test_requests_that_wait_at_the_end_are_answered_or_refused(
    tmp_path, monkeypatch, grace, status, code
):
    Status = health_pb2.HealthCheckResponse
    options = {"num_batch_threads": 1, "max_batch_size": 1, "tensor_content": True}
    with (
        stand_in.serving(stand_in.save(tmp_path), **options) as server,
        stand_in.asking(server) as stub,
        stand_in.closed_gate(server, monkeypatch) as gate,
        grpc.insecure_channel(f"localhost:{server.port}") as channel,
    ):
        check = health_pb2_grpc.HealthStub(channel).Check
        for service in SERVICES:
            request = health_pb2.HealthCheckRequest(service=service)
            assert check(request).status == Status.SERVING
        call = stub.Predict.future(stand_in.text_request(["a"]), PATIENCE)
        gate.wait_for(1)
        posts = Posts(server.rest_port, BODY, 2)
        wait_until(lambda: len(server.models.batcher) == 2)
        ending = threading.Thread(target=server.drain, args=(grace,))
        ending.start()
        wait_until(lambda: server.models.batcher._closed)
        if status == 200:
            request = health_pb2.HealthCheckRequest()
            wait_until(lambda: check(request).status == Status.NOT_SERVING)
            assert ask(server.rest_port, PREDICT, BODY).status == 503
            gate.open()
            elmo = call.result().outputs["elmo"]
            assert tf.make_ndarray(elmo).tolist() == [[[1, 1, 2]]]
            assert elmo.tensor_content and not elmo.float_val
        assert posts.join() == {status: 2} and call.code() is code
        gate.open()
        ending.join(PATIENCE)


@pytest.mark.parametrize(
    ("options", "open_", "closed"),
    [
        ({}, ["127.0.0.1"], ["127.0.0.2"]),  # loopback only
        ({"host": "::1"}, ["::1"], []),
        ({"host": "::"}, ["::1", "127.0.0.1"], []),
    ],
)
def test_both_servers_listen_at_the_addresses_of_the_host(
    tmp_path, options, open_, closed
):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("This machine has no IPv6.")
    with stand_in.serving(stand_in.save(tmp_path), **options) as server:
        for port in server.port, server.rest_port:
            for address in open_:
                socket.create_connection((address, port)).close()
            for address in closed:
                with pytest.raises(OSError):
                    socket.create_connection((address, port))
