"""An HTTP server on this machine that serves files, or refuses, or breaks off."""

import contextlib
import hashlib
import http.server
import threading
from collections.abc import Iterator


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        self.answer()

    def do_HEAD(self):
        self.answer()

    def answer(self):
        server, path = self.server, self.path
        content = server.files.get(path, b"")
        code = server.statuses.get(path, 200 if path in server.files else 404)
        self.send_response(code)
        headers = {
            "Content-Length": len(content),
            "ETag": f'"{hashlib.sha1(content).hexdigest()}"',
            "X-Error-Code": "EntryNotFound",  # Hugging Face's hub says this with a 404
        }
        for name, value in (headers | server.headers.get(path, {})).items():
            if value and (name != "X-Error-Code" or code == 404):
                self.send_header(name, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[: server.cuts.get(path)])

    def log_message(self, *_):
        pass


class FileServer(http.server.ThreadingHTTPServer):
    """Serves `files`; what it does for each path can be changed while it serves."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}  # instead of the usual ones
        self.statuses: dict[str, int] = {}
        self.cuts: dict[str, int] = {}  # bytes after which it breaks off
        self.requests: list[str] = []  # paths, but for HEAD
        self.address = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        """The client has left, as some tests want it to."""


@contextlib.contextmanager
def serving() -> Iterator[FileServer]:
    """A server, until the block ends."""
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
