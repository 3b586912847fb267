"""The embedded server with heavy and faulty clients, and what others notice of them.

    python -m tests.benchmarks.faults EXPORT
    python -m tests.benchmarks.faults EXPORT --only long posts

EXPORT holds a version that `elmo-keras export` wrote. Each fault meets a server of its
own, with the default limits. A server that gets a request of much memory has an address
space of 12 GB, and the table shows its memory before, at the peak and afterwards.
"""

import collections
import contextlib
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import grpc
import numpy as np
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from tests.benchmarks import runner
from tests.benchmarks.serving import Server
from tests.support import rest_clients
from tests.support.processes import megabytes, peak_megabytes
from tests.support.rest_clients import HEAD, PREDICT, Posts, Probe, text_body
from tests.support.serving_load import OWN_CONNECTION
from tests.support.serving_requests import text_request, tokens_request

SHORT = text_request(["one sentence of eight tokens is here ."], "elmo")
MAX_MEGABYTES = 12_000  # of address space
TOKENS = 30_000  # of a long sentence
POSTS, FAULTY = 180, 300
WATCHED, LONGER = 15.0, 75.0  # seconds: of faulty connections; until they are closed


def client(server: Server) -> Callable[[object], tuple[str, float]]:
    """A connection of its own: request → name of the status, and seconds."""
    channel = grpc.insecure_channel(f"localhost:{server.port}", OWN_CONNECTION)
    stub = PredictionServiceStub(channel)

    def send(request, _=channel):  # which is closed when nothing refers to it
        begin = time.perf_counter()
        try:
            stub.Predict(request, timeout=300)
            status = "OK"
        except grpc.RpcError as error:
            status = error.code().name
        return status, time.perf_counter() - begin

    return send


@contextlib.contextmanager
def short_requests(server: Server) -> Iterator[list[float]]:
    """The seconds of short requests, one after another."""
    seconds, stop, send = [], threading.Event(), client(server)

    def work():
        while not stop.wait(0.02):
            seconds.append(send(SHORT)[1])

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield seconds
    finally:
        stop.set()
        thread.join()


def long(server: Server) -> Iterator[str]:
    """A long sentence beside short requests."""
    words = " ".join(f"w{i % 500}" for i in range(TOKENS))
    with short_requests(server) as alone:
        time.sleep(5)
    with short_requests(server) as beside:
        status, seconds = client(server)(text_request([words], "elmo"))
    yield f"{status} after {seconds:.1f} s"
    yield f"short requests {described(beside)}, without it {described(alone)}"


def heavy(server: Server, request: Callable[[], object]) -> Iterator[str]:
    """A request to a server of bounded memory."""
    pid, limit = server.process.pid, MAX_MEGABYTES * 2**20
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
    before = megabytes(pid)
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak starts again
    status, seconds = client(server)(request())
    yield f"{status} after {seconds:.2f} s"
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.process.wait(1)  # one that dies has a second for it
        yield f"the server died of more than {MAX_MEGABYTES:,} MB"
    if server.process.returncode is None:
        yield f"{before}, {peak_megabytes(pid)}, {megabytes(pid)} MB"


def columns():
    """A request without rows that claims 10^8 columns."""
    request = tokens_request([["a"]], [1])
    for name, shape in {"tokens": (0, 10**8), "sequence_len": (0,)}.items():
        tensor = request.inputs[name]
        for field in ("string_val", "int_val", "tensor_content"):
            tensor.ClearField(field)
        for dim, size in zip(tensor.tensor_shape.dim, shape):
            dim.size = size
    return request


def empty_sentences():
    return text_request([""] * 200_000, "elmo")


def sigterm(server: Server) -> Iterator[str]:
    """Ends a server while clients send requests, each until one is refused."""
    statuses = collections.Counter()

    def work(tokens):
        send, status = client(server), "OK"
        while status == "OK":
            status, _ = send(text_request([" ".join(["w"] * tokens)], "elmo"))
            statuses[status] += 1

    threads = [threading.Thread(target=work, args=(n,)) for n in (TOKENS, *[8] * 12)]
    for thread in threads:
        thread.start()
    time.sleep(3)
    begin = time.perf_counter()
    server.process.send_signal(signal.SIGTERM)
    status = server.process.wait(300)
    seconds = time.perf_counter() - begin
    for thread in threads:
        thread.join()
    yield f"status {status} after {seconds:.1f} s; {counted(statuses)}"


def posts(server: Server) -> Iterator[str]:
    """Many posts at once, beside a probe of the status page."""
    with Probe(server.rest_port) as probe:
        many = Posts(server.rest_port, text_body(8, 40), POSTS)
        yield counted(many.join())
        yield f"slowest {max(reply.seconds for reply in many.replies):.1f} s"
    yield probed(probe)


def dripping(server: Server, content: str) -> Iterator[str]:
    """Connections that send a byte a second, beside a probe of the status page."""
    port = server.rest_port
    with rest_clients.open_connections(port, FAULTY, content) as faulty:
        with Probe(port) as probe:
            rest_clients.drip(faulty, seconds=WATCHED, pause=1.0)
        yield probed(probe)
        left = rest_clients.drip(faulty, seconds=LONGER - WATCHED, pause=1.0)
        yield f"{left} of {FAULTY} still open after {LONGER:.0f} s"


BODY = f"{HEAD}Content-Length: 1000\r\n\r\n"
DRIP = f"{FAULTY} connections that drip"
FAULTS = {  # name → title, fault and its further arguments
    "columns": ("no rows, 10^8 columns", heavy, columns),
    "empty": ("200,000 empty sentences", heavy, empty_sentences),
    "long": (f"a sentence of {TOKENS:,} tokens", long),
    "sigterm": ("SIGTERM with a grace of 4 s under load", sigterm),
    "posts": (f"{POSTS} posts of 8 × 40 tokens at once", posts),
    "headers": (f"{DRIP} headers", dripping, f"{HEAD}X-Slow: "),
    "bodies": (f"{DRIP} a body", dripping, BODY),
}


def counted(statuses: collections.Counter) -> str:
    return ", ".join(f"{n} × {status}" for status, n in statuses.most_common())


def described(seconds: Sequence[float]) -> str:
    return f"median {np.median(seconds):.3f} s, longest {max(seconds):.2f} s"


def probed(probe: Probe) -> str:
    missing = f"status page: {probe.missing} of {len(probe.replies)} missing"
    return f"{missing}, slowest {probe.slowest:.2f} s"


def main(export: Path, /, *, only: Sequence[str] = tuple(FAULTS)) -> None:
    runner.head("fault", "what came")
    for title, fault, *arguments in map(FAULTS.get, only):
        with Server(export, "--grace-seconds=4") as server:
            # It has answered a request.
            rest_clients.ask(server.rest_port, PREDICT, text_body(8, 40))
            runner.row(title, "; ".join(fault(server, *arguments)))


if __name__ == "__main__":
    runner.run(main)
