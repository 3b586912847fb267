"""An HTTP server on this machine that serves files, and fails in the ways that servers do."""

import contextlib
import hashlib
import http.server
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Request(NamedTuple):
    """What was asked for: a path, the first byte (0 for all), and with what token."""

    path: str
    first: int
    token: str | None


class FileServer:
    """Serves `files` with strong tags and ranges, and remembers all requests.

    Attributes:
        files: path → content.
        answers: path → answers to the next requests; each is used once. After them
            the file is served as it should be.
        headers: path → further headers of all answers.
        requests: the requests so far, without those for headers only.
        address: the server's own, without a final slash.
    """

    def __init__(self, port: int):
        self.files: dict[str, bytes] = {}
        self.answers: dict[str, list[Callable]] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.requests: list[Request] = []
        self.address = f"http://127.0.0.1:{port}"
        self.over = threading.Event()

    def fail(self, path: str, *answers: Callable) -> None:
        """Answers the next requests for a path in these ways."""
        self.answers[path] = list(answers)

    def firsts(self, path: str) -> list[int]:
        """The first bytes that were asked for at a path."""
        return [request.first for request in self.requests if request.path == path]


@contextlib.contextmanager
def serving() -> Iterator[FileServer]:
    """A server, until the block ends."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            first = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            token = self.headers.get("Authorization")
            asked = Request(self.path, int(first[1]) if first else 0, token)
            files.requests.append(asked)
            if files.answers.get(self.path):
                return files.answers[self.path].pop(0)(self, files)
            if self.path not in files.files:
                return status(404)(self, files)
            serve(self, files)

        def do_HEAD(self):
            if self.path not in files.files:
                return status(404)(self, files)
            serve(self, files, with_content=False)

        def end_headers(self):
            for name, value in files.headers.get(self.path, {}).items():
                self.send_header(name, value)
            super().end_headers()

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            """The client has left, as some tests want it to."""

    with Server(("127.0.0.1", 0), Handler) as server:
        files = FileServer(server.server_port)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield files
        finally:
            files.over.set()
            server.shutdown()
            thread.join()


def serve(
    handler,
    files,
    content=None,
    *,
    ranges=True,
    tag=None,
    cut=None,
    announced=None,
    shift=0,
    with_content=True,
):
    """Serves a file, from where it was asked for.

    Args:
        handler, files: the request and the server.
        content: instead of the file's own.
        ranges: whether parts are served.
        tag: instead of the content's own; "" for none.
        cut: bytes after which the connection is closed.
        announced: the length that is announced instead of the true one; 0 for none.
        shift: bytes between what was asked for and what a part starts with.
        with_content: whether the content follows the headers.
    """
    content = files.files[handler.path] if content is None else content
    tag = f'"{hashlib.sha1(content).hexdigest()}"' if tag is None else tag
    first = files.requests[-1].first if ranges and with_content else 0
    if handler.headers.get("If-Range", tag) != tag:
        first = 0
    first += shift if first else 0
    body = content[first:]
    if first and not body:
        handler.send_response(416)
        handler.send_header("Content-Range", f"bytes */{len(content)}")
        handler.send_header("Content-Length", "0")
        return handler.end_headers()
    handler.send_response(206 if first else 200)
    if first:
        last = len(content) - 1
        handler.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
    if tag:
        handler.send_header("ETag", tag)
    if announced != 0:
        handler.send_header("Content-Length", str(announced or len(body)))
    handler.end_headers()
    if with_content:
        handler.wfile.write(body[:cut])
        handler.wfile.flush()


def cut_after(n, **kwargs):
    """The connection closes after n bytes of content."""
    return lambda handler, files: serve(handler, files, cut=n, **kwargs)


def reset_after(n):
    """The connection is reset after n bytes."""

    def answer(handler, files):
        serve(handler, files, cut=n)
        linger = bytes([1, 0, 0, 0, 0, 0, 0, 0])
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        handler.connection.close()

    return answer


def silent_after(n, then=lambda: None):
    """The server calls `then` after n bytes, and sends nothing more."""

    def answer(handler, files):
        serve(handler, files, cut=n)
        then()
        files.over.wait()

    return answer


def sends(content, **kwargs):
    """Other content is served."""
    return lambda handler, files: serve(handler, files, content, **kwargs)


def in_pieces(size):
    """The file comes in pieces of a few bytes."""

    def answer(handler, files):
        content = files.files[handler.path]
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for i in range(0, len(content), size):
            piece = content[i : i + size]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n")

    return answer


def status(code, **headers):
    """An answer without a file."""

    def answer(handler, _):
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer
