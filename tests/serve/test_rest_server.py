"""The REST server's limits of time and connections, and its end."""

import contextlib
import http.client
import logging
import socket
import threading

import pytest

from elmo_keras.serve import rest_json
from elmo_keras.serve.config import Config
from elmo_keras.serve.rest import RestServer
from tests.support import stand_in
from tests.support.rest_clients import (
    HEAD,
    PREDICT,
    STATUS,
    Posts,
    ask,
    drip,
    open_connections,
    text_body,
)
from tests.support.waiting import PATIENCE, wait_until

ASKS_FIRST = HEAD + "Expect: 100-continue\r\nContent-Length: {}\r\n\r\n"
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


def closed(connection):
    """Whether the server has closed a connection, after what it sends."""
    connection.settimeout(PATIENCE)
    with contextlib.suppress(ConnectionError):
        while connection.recv(2**16):
            pass
    return True


@pytest.fixture
def gate(model, monkeypatch):
    with stand_in.closed_gate(model, monkeypatch) as gate:
        yield gate


@pytest.fixture
def post(model, gate):
    """Sends requests; returns when one is computed and the others wait."""

    def post(server, n):
        posts = Posts(server.port, BODY, n)
        gate.wait_for(1)
        wait_until(lambda: len(model.models.batcher) == n - 1)
        return posts

    return post


@pytest.mark.parametrize("content", ["", "G", HEAD, HEAD + "X-Slow: a"])
def test_headers_that_do_not_come_in_time_close_the_connection(rest, content):
    server = rest(header_timeout=0.2)
    with open_connections(server.port, 1, content) as (connection,):
        assert closed(connection)


def test_bytes_that_drip_do_not_prolong_the_time_for_headers(rest):
    server = rest(header_timeout=0.5)
    with open_connections(server.port, 1, HEAD) as connections:
        assert drip(connections, seconds=PATIENCE, pause=0.05) == 0


def test_an_idle_connection_is_closed_but_not_a_busy_one(rest, gate, post):
    server = rest(header_timeout=0.2)
    posts = post(server, 1)
    with open_connections(server.port, 1, "") as (connection,):
        assert closed(connection)
    gate.open()
    assert posts.join() == {200: 1}


def test_a_body_that_does_not_come_in_time_is_a_408(rest):
    server = rest(body_timeout=0.2)
    with open_connections(server.port, 1, WITHOUT_END) as (connection,):
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 408 ") and b'{"error":' in answer
    assert b"Received: 1 bytes" in answer


def test_a_body_without_an_end_is_not_read_for_ever(rest):
    server = rest(body_timeout=0.2)
    head = f"{HEAD}Content-Length: {10**12}\r\n\r\n"
    with (
        open_connections(server.port, 1, head) as (connection,),
        pytest.raises(ConnectionError),
    ):
        while True:
            connection.sendall(b" " * 2**20)


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


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_large_answer_is_sent_while_it_is_written(rest, monkeypatch, version):
    body, server = text_body(20, 100), rest()
    whole = ask(server.port, PREDICT, body)
    monkeypatch.setattr(rest_json, "BLOCK", 1000)
    monkeypatch.setattr("elmo_keras.serve.rest.BLOCK", 1000)
    length = f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    request = HEAD.replace("1.1", version) + length + body.decode()
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
    assert ask(server.port, STATUS).status == 200
    assert ask(server.port, f"{STATUS}/metadata").status == 200
    assert ask(server.port, "/monitoring/prometheus/metrics").status == 200
    gate.open()
    assert posts.join() == {429: 36, 200: 4}


def test_a_client_that_asks_first_sends_its_body_after_the_answer(rest):
    head = ASKS_FIRST.format(len(BODY))
    with open_connections(rest().port, 1, head) as (connection,):
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_all_bodies_together_are_bounded(rest, model):
    server = rest()
    content = WITHOUT_END.replace("1000", str(2**20)) + " " * (2**20 - 2)
    with open_connections(server.port, 4, content) as connections:
        wait_until(lambda: model.models.held == 4 * (2**20 - 1))
        assert ask(server.port, PREDICT, b" " * 100).status == 429
        for connection in connections:
            connection.close()
        wait_until(lambda: ask(server.port, PREDICT, b" " * 100).status == 400)


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


def in_use(model):
    """The number of requests that keep a version loaded."""
    return sum(model.models["elmo"]._uses.values())


def test_a_client_that_leaves_takes_its_request_along(rest, model, gate):
    server = rest()
    with open_connections(server.port, 1, WHOLE):
        gate.wait_for(1)  # the queue has room for three more
        with open_connections(server.port, 3, WHOLE):
            wait_until(lambda: len(model.models.batcher) == 3)
            assert in_use(model) == 4
    wait_until(lambda: in_use(model) == 1)
    # The requests of clients that left make room for another.
    assert Posts(server.port, BODY, 1, timeout=0.2).join() == {"TimeoutError": 1}
    assert len(gate.batches) == 1


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_closes_its_side_gets_its_answer(
    rest, gate, monkeypatch, version
):
    monkeypatch.setattr("elmo_keras.serve.rest.PROBE_SECONDS", 0.05)
    request = WHOLE.replace("1.1", version)
    with open_connections(rest().port, 1, request) as (connection,):
        connection.shutdown(socket.SHUT_WR)
        gate.wait_for(1)
        interim = b"HTTP/1.1 100 Continue\r\n\r\n"
        for _ in range(3 if version == "1.1" else 0):  # HTTP/1.0 has none
            assert connection.recv(len(interim)) == interim
        gate.open()
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 200 and b'"predictions"' in response.read()
        assert not connection.recv(1)


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
    assert ask(cors.port, STATUS).headers[allowed] == "*"
    assert ask(cors.port, PREDICT, b"{").headers[allowed] == "*"
    reply = ask(plain.port, PREDICT, method="OPTIONS")
    assert reply.status == 400 and allowed not in reply.headers


def test_the_end_of_a_server_closes_its_connections_and_leaves_no_thread(rest, model):
    before = set(threading.enumerate())
    server = rest()
    with open_connections(server.port, 1, WITHOUT_END) as (connection,):
        wait_until(lambda: model.models.held)
        server.close()
        assert closed(connection)
    server.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_requests_that_wait_at_the_end_are_answered_or_get_a_503(tmp_path, monkeypatch):
    one = {"num_batch_threads": 1, "max_batch_size": 1}
    for grace, statuses in ((PATIENCE, {200: 3}), (0.1, {503: 3})):
        directory = stand_in.save(tmp_path / str(grace))
        with (
            stand_in.serving(directory, **one) as server,
            stand_in.closed_gate(server, monkeypatch) as gate,
        ):
            posts = Posts(server.rest_port, BODY, 3)
            gate.wait_for(1)
            wait_until(lambda s=server: len(s.models.batcher) == 2)
            ending = threading.Thread(target=server.drain, args=(grace,))
            ending.start()
            wait_until(lambda s=server: s.models.batcher._closed)
            if grace == PATIENCE:
                assert ask(server.rest_port, PREDICT, BODY).status == 503
                gate.open()
            assert posts.join() == statuses
            gate.open()
            ending.join(PATIENCE)


@pytest.mark.parametrize(
    ("host", "addresses"), [("::1", ["::1"]), ("::", ["::1", "127.0.0.1"])]
)
def test_both_servers_take_ipv6_and_all_addresses(tmp_path, host, addresses):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("This machine has no IPv6.")
    with (
        stand_in.serving(stand_in.save(tmp_path), host=host) as server,
        stand_in.asking(server, "[::1]") as stub,
    ):
        for address in addresses:
            assert ask(server.rest_port, STATUS, host=address).status == 200
        assert stub.Predict(stand_in.text_request(["a"])).outputs


def test_the_log_is_silent_about_faults_of_clients(rest, caplog):
    server = rest()
    damaged = "Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\nno gzip ."
    # The command disables this log, which holds nothing else.
    with caplog.at_level(logging.CRITICAL, "aiohttp.server"):
        for content in (HEAD, "GET\r\n\r\n", HEAD + damaged):
            with open_connections(server.port, 5, content):
                pass
        coded = {"Content-Encoding": "gzip"}
        for _ in range(5):
            assert ask(server.port, PREDICT, b"no gzip", headers=coded).status == 400
        server.close()
    assert not caplog.records
