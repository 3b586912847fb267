"""What one heavy gRPC request costs the embedded server and its other clients.

    python -m tests.benchmarks.heavy_requests EXPORT
    python -m tests.benchmarks.heavy_requests EXPORT --checkout ../before

EXPORT holds a version that `python -m export` wrote. The server is a process of its own,
run in --checkout, by default in this one; each request that needs much memory gets one
of 12 GB. Each line says what was sent, which status
came after how many seconds, and the server's resident memory before, at the peak and
afterwards, or how long other clients waited meanwhile.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import grpc
import numpy as np
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import command_parser, run_command
from tests.benchmarks.serving import Server
from tests.support.serving_load import OWN_CONNECTION
from tests.support.serving_requests import text_request, tokens_request

PROGRAM = "tests.benchmarks.heavy_requests"
SHORT = "one sentence of eight tokens is here ."
NAMES = "tokens", "sequence_len"
PAUSE = 0.02  # seconds between the short requests of a client
GRACE = 4.0
MAX_MEGABYTES = 12_000  # of address space, for a server that gets a heavy request
FILTERS = (
    ("elmo",),
    ("default",),
    ("word_emb",),
    ("lstm_outputs1",),
    ("elmo", "layers"),
    ("default", "word_emb"),
    ("elmo", "default", "sequence_len"),
)


class Client:
    """A connection of its own that measures and never raises."""

    def __init__(self, server: Server):
        address = f"localhost:{server.port}"
        self._channel = grpc.insecure_channel(address, OWN_CONNECTION)
        self._predict = PredictionServiceStub(self._channel).Predict

    def ask(self, request) -> tuple[str, float]:
        """The name of the status, and the seconds until it came."""
        begin = time.perf_counter()
        try:
            self._predict(request, timeout=300)
            status = "OK"
        except grpc.RpcError as error:
            status = error.code().name
        return status, time.perf_counter() - begin


@contextlib.contextmanager
def short_requests(server: Server) -> Iterator[list[float]]:
    """A client that sends one after another; the seconds that each took."""
    seconds, stop, client = [], threading.Event(), Client(server)

    def ask():
        while not stop.wait(PAUSE):
            seconds.append(client.ask(text_request([SHORT], "elmo"))[1])

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield seconds
    finally:
        stop.set()
        thread.join()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command(
        PROGRAM, lambda: report(options.export, options.checkout, options.tokens)
    )


def report(export: Path, checkout: Path | None, tokens: int) -> None:
    """Prints a line for each request."""
    with Server(export, checkout=checkout) as server:
        report_first_uses(server)
        report_beside(server, tokens)
    for name, request in heavy().items():
        with Server(export, checkout=checkout) as server:
            server.limit_memory(MAX_MEGABYTES)
            report_heavy(server, name, request)
    report_end(export, checkout, tokens)


def heavy() -> dict:
    """Requests that need much memory for what they hold."""
    columns = tokens_request([["a"]], [1])
    for tensor, shape in zip(map(columns.inputs.get, NAMES), ((0, 10**8), (0,))):
        for field in ("string_val", "int_val", "tensor_content"):
            tensor.ClearField(field)
        for dim, size in zip(tensor.tensor_shape.dim, shape):
            dim.size = size
    long = [" ".join(["w"] * 1000), *[""] * 100]
    return {
        "no rows, 10^8 columns": columns,
        "200,000 empty sentences": text_request([""] * 200_000, "elmo"),
        "1,000 tokens and 100 empty sentences, all outputs": text_request(long),
        "30 MB of spaces": text_request([" " * 30_000_000], "elmo"),
    }


def report_heavy(server, name, request):
    """Sends a request and prints what it took."""
    before = server.megabytes
    server.forget_peak()
    status, seconds = Client(server).ask(request)
    if server.ended:
        memory = f"{before} MB, then the server died of more than {MAX_MEGABYTES:,} MB"
    else:
        memory = f"{before}, {server.peak_megabytes}, {server.megabytes} MB"
    print(f"{name}: {status} after {seconds:.2f} s; memory {memory}", flush=True)


def report_first_uses(server):
    """The first use of several output filters, beside short requests."""
    Client(server).ask(text_request([SHORT], "elmo"))
    with short_requests(server) as others:
        time.sleep(1)
        client = Client(server)
        first = [client.ask(text_request([SHORT], *keys))[1] for keys in FILTERS]
    print(
        f"first use of {len(FILTERS)} output filters: {described(first)}; short "
        f"requests meanwhile {described(others)}",
        flush=True,
    )


def report_beside(server, tokens):
    """Short requests beside a long one, and without it."""
    with short_requests(server) as alone:
        time.sleep(5)
    long = text_request([" ".join(f"w{i % 500}" for i in range(tokens))], "elmo")
    with short_requests(server) as beside:
        status, seconds = Client(server).ask(long)
    print(
        f"a sentence of {tokens:,} tokens: {status} after {seconds:.1f} s; short "
        f"requests meanwhile {described(beside)}, without it {described(alone)}",
        flush=True,
    )


def report_end(export, checkout, tokens):
    """SIGTERM, and Ctrl-C twice, while a long request and short ones are under way."""
    for name, signals in {
        f"SIGTERM, grace {GRACE:g} s": [signal.SIGTERM],
        "Ctrl-C twice": [signal.SIGINT, signal.SIGINT],
    }.items():
        with Server(export, f"--grace-seconds={GRACE}", checkout=checkout) as server:
            statuses = Counter()
            threads = [
                threading.Thread(target=ask_to_the_end, args=(server, n, statuses))
                for n in (tokens, *[8] * 12)
            ]
            for thread in threads:
                thread.start()
            time.sleep(3)
            begin = time.perf_counter()
            for number in signals:
                server.send(number)
                time.sleep(0.5)
            status = server.wait()
            seconds = time.perf_counter() - begin
            for thread in threads:
                thread.join()
        print(f"{name}: status {status} after {seconds:.1f} s; {dict(statuses)}")


def ask_to_the_end(server, tokens, statuses):
    """Sends requests until one is refused, and counts the statuses."""
    client, status = Client(server), "OK"
    while status == "OK":
        status, _ = client.ask(text_request([" ".join(["w"] * tokens)], "elmo"))
        statuses[status] += 1


def described(seconds: Sequence[float]) -> str:
    """Number, median and maximum."""
    median, largest = np.median(seconds), max(seconds)
    return f"(n = {len(seconds)}) median {median:.3f} s, longest {largest:.3f} s"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    p.add_argument("export", metavar="EXPORT", type=Path)
    p.add_argument("--checkout", type=Path, metavar="DIR")
    p.add_argument("--tokens", type=positive(int), default=30_000)
    return p


if __name__ == "__main__":
    sys.exit(main())
