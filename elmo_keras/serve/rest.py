"""The REST API of TensorFlow Serving, an aiohttp application in a thread."""

import asyncio
import contextlib
import functools
import gzip
import io
import json
import socket
import threading
import zlib
from collections.abc import Iterator

import grpc
from aiohttp import web
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap  # pyright: ignore[reportAttributeAccessIssue]
from tensorflow_serving.apis.model_pb2 import ModelSpec  # pyright: ignore[reportAttributeAccessIssue]

from elmo_keras.serve.config import Config
from elmo_keras.serve.errors import RequestError, invalid, not_found, too_late, too_much
from elmo_keras.serve.models import ONLY_PREDICT, SIGNATURES, Models
from elmo_keras.serve.rest_json import BLOCK, decode, encode, next_block

# Seconds in which the rest of a refused body is read and discarded: a client that is
# still sending would get a reset connection instead of the answer (RFC 9112, 9.6).
LINGER = 10.0
SENDING_SECONDS = 1.0  # for the last answers, when the server ends
CONNECTING = 10  # turns of the loop from an accepted connection to one that is known
SERVER = {"Server": "elmo-keras"}  # without the versions of Python and aiohttp
MODEL = "/v1/models/{name:[^/:]+}{version:(?:/versions/[0-9]+)?}"
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}


class Connection(web.RequestHandler):
    """aiohttp's connection, which answers malformed HTTP in JSON too."""

    __slots__ = ()

    def handle_error(self, request, status=500, exc=None, message=None):
        error = " ".join(f"Malformed HTTP: {message}".split())[:1000]
        response = web.json_response({"error": error}, status=status, headers=SERVER)
        response.force_close()
        return response


class RestServer:
    """`:predict`, metadata and status of models, and the page for Prometheus."""

    def __init__(self, models: Models, config: Config):
        self._models, self._config = models, config
        self._max_body = config.max_message_bytes
        self._socket = listen(config.host, config.rest_port, "--rest-port")
        self.port = self._socket.getsockname()[1]
        self._loop, self._stop = asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed already
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self):
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self):
        config = self._config
        runner = web.AppRunner(
            self._application(),
            handler_cancellation=True,  # ends requests of clients that left
            shutdown_timeout=SENDING_SECONDS,
        )
        await runner.setup()
        connect = functools.partial(
            Connection,
            runner.server,  # pyright: ignore[reportArgumentType]
            loop=self._loop,
            access_log=None,  # pyright: ignore[reportArgumentType]
            auto_decompress=False,
            keepalive_timeout=config.rest_header_timeout,
            lingering_time=min(LINGER, config.rest_body_timeout),
        )
        server = await self._loop.create_server(connect, sock=self._socket, backlog=128)
        await self._stop.wait()
        server.close()
        # A connection of this moment is closed with the others: turns of the loop, however
        # busy the machine is.
        for _ in range(CONNECTING):
            await asyncio.sleep(0)
        await runner.cleanup()

    def _application(self):
        app = web.Application(middlewares=[self._count_and_refuse])
        app.on_response_prepare.append(self._add_headers)
        add = app.router.add_route
        add("GET", "/monitoring/prometheus/metrics", self._metrics, name="metrics")
        add("GET", MODEL, self._status, name="status")
        add("GET", f"{MODEL}/metadata", self._metadata, name="metadata")
        add("POST", f"{MODEL}:predict", self._predict, name="predict")
        others = f"{MODEL}:{{method:classify|regress}}"
        add("POST", others, self._unimplemented, name="others")
        if self._config.rest_cors:
            add("OPTIONS", "/v1/{path:(?s:.*)}", self._options, name="options")
        add("*", "/{path:(?s:.*)}", self._malformed, name="malformed")
        return app

    @web.middleware
    async def _count_and_refuse(self, request, handler):
        page, model = request.match_info.route.name, request.match_info.get("name", "")
        try:
            with self._models.answering("REST", page or "malformed", model):
                return await handler(request)
        except RequestError as error:
            return web.json_response({"error": str(error)}, status=error.http_status)

    async def _add_headers(self, request, response):
        response.headers.update(SERVER)
        if self._config.rest_cors:
            response.headers.update(CORS)

    async def _metrics(self, request):
        return web.Response(body=self._models.metrics.page(), content_type="text/plain")

    async def _status(self, request):
        return json_page(to_dict(self._models.status(model_spec(request))))

    async def _metadata(self, request):
        metadata = self._models.metadata(model_spec(request))
        signatures = SignatureDefMap()
        metadata.metadata[SIGNATURES].Unpack(signatures)
        return json_page(
            {
                "model_spec": to_dict(metadata.model_spec),
                "metadata": {SIGNATURES: to_dict(signatures)},
            }
        )

    async def _unimplemented(self, request):
        raise RequestError(grpc.StatusCode.UNIMPLEMENTED, ONLY_PREDICT)

    async def _options(self, request):
        return web.Response()

    async def _malformed(self, request):
        if request.path.startswith("/v1/"):
            raise invalid(f"Malformed request: {request.method} {request.path}")
        raise not_found(f"Not found: {request.path}")

    async def _predict(self, request):
        spec, body = model_spec(request), bytearray()
        seconds = self._config.rest_timeout
        try:
            await self._receive(request, body)
            async with asyncio.timeout(seconds):
                with self._models.lease(spec) as servable:
                    query, as_columns = await asyncio.to_thread(
                        decode, body, servable, seconds
                    )
                    future = self._models.batcher.submit(query)
                    # Cancelled after a time-out or without a client, which drops it.
                    outputs = await asyncio.wrap_future(future)
        except TimeoutError:
            message = f"The request waited for {seconds:g} seconds."
            raise too_late(message) from None
        finally:
            self._models.hold(-len(body))
        return await self._send(request, encode(outputs, as_columns=as_columns))

    async def _receive(self, request, body):
        """Reads the body of a request, within the bounds of its size and time."""
        if (request.content_length or 0) > self._max_body:
            raise self._too_large()
        encoding = request.headers.get("Content-Encoding", "identity").lower()
        try:
            async with asyncio.timeout(self._config.rest_body_timeout):
                async for chunk in request.content.iter_any():
                    self._add(body, chunk)
            if encoding == "gzip":
                await self._unpack(body)
            elif encoding != "identity":
                raise EOFError
        except TimeoutError:
            raise too_late(
                f"The body should be complete after {self._config.rest_body_timeout:g} "
                f"seconds. Received: {len(body)} bytes",
                http_status=408,
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error, web.RequestPayloadError):
            raise invalid(
                "The body should be as its headers say: complete, plain or in gzip. "
                f"Received: {len(body)} bytes"
            ) from None

    async def _unpack(self, body):
        """Replaces a compressed body by its content, whose end gzip checks."""
        with gzip.open(io.BytesIO(body)) as file:
            self._models.hold(-len(body))
            body.clear()
            while block := await asyncio.to_thread(file.read, BLOCK):
                self._add(body, block)

    def _add(self, body, block):
        self._models.hold(len(block))
        body += block
        if len(body) > self._max_body:
            raise self._too_large()

    def _too_large(self):
        message = f"A body should have at most {self._max_body} bytes."
        return too_much(message, http_status=413)

    async def _send(self, request, pieces: Iterator[bytes]):
        """Sends an answer block by block, each after the client has read the one before."""
        response = web.StreamResponse()
        response.content_type = "application/json"
        block = await asyncio.to_thread(next_block, pieces)
        if len(block) < BLOCK:  # there is no other
            response.content_length = len(block)
        await response.prepare(request)
        try:
            while block:
                async with asyncio.timeout(self._config.rest_body_timeout):
                    await response.write(block)
                if len(block) < BLOCK:
                    break
                block = await asyncio.to_thread(next_block, pieces)
        except (TimeoutError, ConnectionError):  # the client doesn't read, or has left
            if request.transport is not None:
                request.transport.abort()
        return response


def listen(host: str, port: int, option: str) -> socket.socket:
    """A socket on an address; of a name's addresses, one of IPv4 if there is one."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, address = min(addresses, key=lambda a: a[0] != socket.AF_INET)
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, dualstack_ipv6=both)
    except OSError as error:
        raise OSError(
            f"Can't listen on {option} {port} of --host {host}: {error.strerror}. Give "
            "another, or end the program that listens there."
        ) from error


def model_spec(request: web.Request) -> ModelSpec:
    """The model of a path, with its version."""
    spec, version = ModelSpec(), request.match_info["version"]
    try:
        spec.name = request.match_info["name"]
        if version:
            spec.version.value = int(version.removeprefix("/versions/"))
    except ValueError:
        raise invalid(
            "Names should be UTF-8, and a version should fit into 64 bits. Received: "
            f"{request.path}"
        ) from None
    return spec


def to_dict(message: Message) -> dict:
    return MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )


def json_page(page: dict) -> web.Response:
    # Indented: scripts look for `"state": "AVAILABLE"`.
    return web.json_response(page, dumps=functools.partial(json.dumps, indent=2))
