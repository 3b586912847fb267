"""An HTTP server on this machine that serves files, and fails in the ways that servers do."""

import contextlib
import hashlib
import http.server
import re
import socket
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import NamedTuple


class Request(NamedTuple):
    path: str
    first: int  # byte that was asked for
    token: str | None


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        first = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        self.first = int(first[1]) if first else 0
        asked = Request(self.path, self.first, self.headers.get("Authorization"))
        self.server.requests.append(asked)
        answers = self.server.answers.get(self.path)
        (answers.pop(0) if answers else serve)(self)

    def do_HEAD(self):
        self.first = 0
        serve(self, with_content=False)

    def end_headers(self):
        for name, value in self.server.headers.get(self.path, {}).items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_):
        pass


class FileServer(http.server.ThreadingHTTPServer):
    """Serves `files` with strong tags and ranges, and remembers all requests but HEAD."""

    daemon_threads = True
    handler = Handler

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.handler)
        self.files: dict[str, bytes] = {}  # by path, as the next two
        self.answers: dict[str, list[Callable]] = {}  # to the next requests, each once
        self.headers: dict[str, dict[str, str]] = {}  # further ones of all answers
        self.requests: list[Request] = []
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.over = threading.Event()

    def handle_error(self, *_):
        """The client has left, as some tests want it to."""

    def fail(self, path: str, *answers: Callable) -> None:
        self.answers[path] = list(answers)

    def firsts(self, path: str) -> list[int]:
        return [request.first for request in self.requests if request.path == path]


@contextlib.contextmanager
def serving(kind: type[FileServer] = FileServer) -> Iterator[FileServer]:
    """A server, until the block ends."""
    with kind() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def serve(
    handler,
    content=None,
    *,
    ranges=True,  # whether parts are served
    modified=None,  # time instead of the content's; "" for none
    cut=None,  # bytes after which the connection is closed
    with_content=True,
):
    """Serves the file, or other content, from where it was asked for."""
    content = handler.server.files.get(handler.path) if content is None else content
    if content is None:
        return status(404)(handler)
    digest = hashlib.sha1(content).hexdigest()
    if modified is None:
        modified = formatdate(int(digest[:7], 16), usegmt=True)
    first = handler.first if ranges else 0
    if handler.headers.get("If-Range", modified) != modified:
        first = 0
    body = content[first:]
    if first and not body:
        return status(416, **{"Content-Range": f"bytes */{len(content)}"})(handler)
    handler.send_response(206 if first else 200)
    if first:
        last = len(content) - 1
        handler.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
    handler.send_header("ETag", f'"{digest}"')
    if modified:
        handler.send_header("Last-Modified", modified)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if with_content:
        handler.wfile.write(body[:cut])
        handler.wfile.flush()


def sends(content, **kwargs):
    return lambda handler: serve(handler, content, **kwargs)


def cut_after(n, **kwargs):
    return sends(None, cut=n, **kwargs)


def reset_after(n):
    def answer(handler):
        serve(handler, cut=n)
        linger = bytes([1, 0, 0, 0, 0, 0, 0, 0])
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        handler.connection.close()

    return answer


def silent_after(n, then=lambda: None):
    """The server calls `then` after n bytes, and sends nothing more."""

    def answer(handler):
        serve(handler, cut=n)
        then()
        handler.server.over.wait()

    return answer


def in_pieces(size):
    def answer(handler):
        content = handler.server.files[handler.path]
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for i in range(0, len(content), size):
            piece = content[i : i + size]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n")

    return answer


def status(code, **headers):
    def answer(handler):
        handler.send_response(code)
        for name, value in (headers | {"Content-Length": "0"}).items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer
