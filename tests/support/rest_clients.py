"""Clients of the REST API."""

import collections
import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException
from types import MappingProxyType
from typing import NamedTuple

from tests.support.waiting import PATIENCE

LOCAL = "127.0.0.1"
PREDICT = "/v1/models/elmo:predict"
STATUS = "/v1/models/elmo"
HEAD = f"POST {PREDICT} HTTP/1.1\r\nHost: x\r\n"


class Reply(NamedTuple):
    status: int | str  # the HTTP status, or the name of an error
    content: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})


def ask(
    port, path, body=None, *, method="", headers=None, host=LOCAL, timeout=PATIENCE
) -> Reply:
    """Sends a GET, or a POST if there is a body, over a connection of its own."""
    method = method or ("GET" if body is None else "POST")
    with contextlib.closing(HTTPConnection(host, port, timeout=timeout)) as connection:
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            content = response.read()
        except (OSError, HTTPException) as error:
            return Reply(type(error).__name__)
    return Reply(response.status, content, dict(response.headers))


def text_body(sentences: int, tokens: int) -> bytes:
    """A request for equal sentences of different words."""
    sentence = " ".join(f"word{i}" for i in range(tokens))
    return json.dumps({"instances": [sentence] * sentences}).encode()


class Posts:
    """Requests of many clients at once; `replies` are in the order in which they came."""

    def __init__(self, port: int, body: bytes, n: int, timeout: float = PATIENCE):
        def post():
            self.replies.append(ask(port, PREDICT, body, timeout=timeout))

        self.replies: list[Reply] = []
        self._threads = [threading.Thread(target=post) for _ in range(n)]
        for thread in self._threads:
            thread.start()

    def join(self) -> collections.Counter[int | str]:
        for thread in self._threads:
            thread.join()
        return collections.Counter(reply.status for reply in self.replies)


@contextlib.contextmanager
def open_connections(port: int, n: int, content: str) -> Iterator[list[socket.socket]]:
    """Connections that have sent the beginning of a request."""
    with contextlib.ExitStack() as stack:
        connections = []
        for _ in range(n):
            opened = socket.create_connection((LOCAL, port), PATIENCE)
            connections.append(stack.enter_context(opened))
            opened.sendall(content.encode())
        yield connections
