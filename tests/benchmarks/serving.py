"""The embedded server under load, and with faulty clients.

    python -m tests.benchmarks.serving EXPORT --model MODEL_DIR --text FILE
    python -m tests.benchmarks.serving EXPORT --model MODEL_DIR --text FILE --rest
    python -m tests.benchmarks.serving EXPORT --model MODEL_DIR --text FILE --faults

EXPORT holds a version that `python -m export` wrote from MODEL_DIR. FILE holds one
sentence a line, tokens separated by spaces; a request is one sentence. The `Elmo` layer
first computes the vectors of the sentences, and every answer is compared with them. The
server is a process of its own. The clients are threads of this process and share the
processors with the server.

Without --faults: requests a second and latencies of --clients clients and of one
client, for --seconds each, and the server's resident memory at the start, in the middle
and at the end; with --rest the same over REST, whose answers hold all outputs. With --faults: malformed messages, clients that hang up, a short queue,
a version that changes and SIGTERM, each while --clients clients keep sending requests.
"""

import argparse
import collections
import contextlib
import datetime
import itertools
import os
import platform
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import grpc
import numpy as np
import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import command_parser, run_command
from elmo_keras.text.files import read_sentences
from export.version_paths import versions
from tests.support.serving_load import OWN_CONNECTION, Load, grpc_client, rest_client
from tests.support.serving_requests import (
    PREDICT,
    changed,
    malformed,
    text_request,
    tokens_request,
)
from tests.support.waiting import wait_until

PROGRAM = "tests.benchmarks.serving"
TOLERANCE = 1e-5  # batches of different shapes are summed in a different order
COLUMNS = (
    "clients",
    "requests/s",
    "tokens/s",
    "p50",
    "p99",
    "answers",
    "errors",
    "wrong",
    "largest difference",
    "memory: start, middle, end",
)


class Server:
    """`python -m export.serve` in a process of its own.

    Args:
        directory: the folder of the versions.
        *arguments: further arguments of the command.
        checkout: the folder to run it in, or None for the current one.

    Attributes:
        port, rest_port: its ports.
    """

    def __init__(self, directory: Path, *arguments: str, checkout: Path | None = None):
        command = [sys.executable, "-m", "export.serve", directory.absolute()]
        self._process = subprocess.Popen(
            [*command, *arguments, "--port=0", "--rest-port=0"],
            cwd=checkout,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        line = self._process.stdout.readline()
        if not line:
            raise ValueError(f"{directory} can't be served.")
        ports = [part.split(",")[0] for part in line.split("on port ")[1:]]
        self.port, self.rest_port = map(int, ports)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    @property
    def megabytes(self) -> int:
        """The resident memory."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // 2**20

    @property
    def peak_megabytes(self) -> int:
        """The largest resident memory since `forget_peak`."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) // 2**10

    def forget_peak(self) -> None:
        """Measures `peak_megabytes` from now on."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    @property
    def ended(self) -> bool:
        """Whether the process has ended; one that dies has a second for it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        return self._process.returncode is not None

    def limit_memory(self, megabytes: int) -> None:
        """Bounds the address space of the process, so that the machine survives it."""
        limit = megabytes * 2**20
        resource.prlimit(self._process.pid, resource.RLIMIT_AS, (limit, limit))

    def send(self, number: int) -> None:
        """Sends a signal."""
        self._process.send_signal(number)

    def end(self) -> int:
        """Sends SIGTERM; returns the exit status."""
        self.send(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """The exit status, once the process has ended."""
        return self._process.wait(300)


class Text:
    """Sentences with the vectors that the layer computes."""

    def __init__(self, path: str, n: int, elmo: Elmo):
        self.sentences = list(itertools.islice(read_sentences([path]), n))
        self._vectors = {
            tuple(sentence): elmo([sentence])[0].numpy() for sentence in self.sentences
        }

    def vectors(self, sentence: list[str], version: int) -> np.ndarray:
        """The vectors of a sentence, equal in all versions."""
        return self._vectors[tuple(sentence)]

    def clients(self, client: int) -> Iterator[list[str]]:
        """An endless sequence of sentences, different for each client."""
        rng = random.Random(client)
        while True:
            yield rng.choice(self.sentences)

    def load(self, server: Server, clients: int, *, rest=False, **kwargs) -> Load:
        """Clients that request these sentences over gRPC or REST."""
        kwargs |= {"clients": clients, "tolerance": TOLERANCE}
        port = server.rest_port if rest else server.port
        kwargs["client"] = rest_client if rest else grpc_client
        return Load(port, self.clients, self.vectors, **kwargs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: report(options))


def report(options) -> int:
    """Prints the table or the faults; returns the exit status."""
    text = Text(options.text, options.sentences, Elmo.from_pretrained(options.model))
    print(described(text))
    if options.faults:
        return report_faults(options, text)
    print(row(COLUMNS), row(["---"] * len(COLUMNS)), sep="\n", flush=True)
    return max(measure(options, text, n) for n in (options.clients, 1))


def measure(options, text, clients) -> int:
    """Prints a row; returns status 1 if an answer was wrong or missing."""
    with Server(options.export, checkout=options.checkout) as server:
        with text.load(server, clients, rest=options.rest) as load:
            load.wait_for(2 * clients)
            begin, n_before = time.perf_counter(), len(load.seconds)
            tokens, memory = load.tokens, [server.megabytes]
            for _ in range(2):
                time.sleep(options.seconds / 2)
                memory.append(server.megabytes)
            seconds = time.perf_counter() - begin
            times, tokens = load.seconds[n_before:], load.tokens - tokens
        p50, p99 = np.percentile(times, [50, 99]) * 1000
        cells = [
            clients,
            f"{len(times) / seconds:.1f}",
            f"{tokens / seconds:,.0f}",
            f"{p50:.1f} ms",
            f"{p99:.1f} ms",
            f"{load.answers.total():,}",
            load.refusals.total(),
            len(load.wrong),
            f"{load.largest:.1e}",
            f"{', '.join(map(str, memory))} MB",
        ]
        print(row(cells), flush=True)
        return int(bool(load.wrong or load.refusals))


def report_faults(options, text) -> int:
    """Prints the result of each fault; returns status 1 if an answer was wrong."""
    n_wrong = 0
    for fault in (send_malformed, hang_up, overfill, change_version, terminate):
        load, found = fault(options, text)
        n_wrong += len(load.wrong)
        refusals = {code.name: n for code, n in load.refusals.items()}
        print(
            f"{fault.__doc__.rstrip('.')}: {found}; meanwhile {load.answers.total()} "
            f"right answers, {len(load.wrong)} wrong, refused {refusals or 'none'}",
            flush=True,
        )
    return int(n_wrong > 0)


def send_malformed(options, text):
    """Malformed messages."""
    rng, codes = random.Random(0), collections.Counter()
    wrong = list(malformed().values())
    right = [text_request(["a b"]), tokens_request([["a", "b"]], [2])]
    with (
        Server(options.export) as server,
        text.load(server, 2) as load,
        grpc.insecure_channel(f"localhost:{server.port}") as channel,
    ):
        predict, before = channel.unary_unary(PREDICT), server.megabytes
        for i in range(options.malformed):
            kinds = (
                lambda: rng.choice(wrong).SerializeToString(),
                lambda: changed(rng, rng.choice(wrong + right)),
                lambda: rng.randbytes(rng.randrange(200)),
            )
            with contextlib.suppress(grpc.RpcError):
                call = predict.future(kinds[i % 3](), timeout=30)
                codes[call.code().name] += 1
        memory = f"memory {before} MB before, {server.megabytes} MB after"
        load.wait_for(20)
        ended = server_alive(server)
    return load, f"{dict(codes)}, {memory}, {ended}"


def hang_up(options, text):
    """Clients that hang up within 30 ms."""
    rng = random.Random(0)
    long = text_request([" ".join(sum(text.sentences[:10], []))])
    with Server(options.export) as server, text.load(server, options.clients) as load:
        for _ in range(200):
            address = f"localhost:{server.port}"
            with grpc.insecure_channel(address, OWN_CONNECTION) as channel:
                call = channel.unary_unary(PREDICT).future(long.SerializeToString())
                time.sleep(rng.uniform(0, 0.03))
                call.cancel()
        load.wait_for(100)
        return load, f"200 of them, {server_alive(server)}"


def overfill(options, text):
    """A queue of two requests."""
    arguments = "--max-enqueued-requests=2", "--max-batch-size=1"
    with Server(options.export, *arguments) as server:
        with text.load(server, 32) as load:
            time.sleep(options.seconds / 4)
        with text.load(server, 1) as after:
            after.wait_for(20)
        refused = dict(after.refusals) or "none"
        return load, f"32 clients; refusals of a single one afterwards: {refused}"


def change_version(options, text):
    """Versions that change."""
    newest = options.export / str(versions(options.export)[-1])
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "models"
        shutil.copytree(newest, directory / "1")
        with (
            Server(directory, "--poll-seconds=0.1") as server,
            text.load(server, options.clients) as load,
        ):
            for version in (2, 3, 4):
                load.wait_for(100)
                shutil.copytree(newest, Path(folder) / "new")
                (Path(folder) / "new").rename(directory / str(version))
                wait_until(lambda v=version: load.answers[v])
            load.wait_for(100)
            memory = server.megabytes
    return load, f"answers by version {dict(load.answers)}, {memory} MB at the end"


def terminate(options, text):
    """SIGTERM."""
    with (
        Server(options.export) as server,
        text.load(server, options.clients, until_refused=True) as load,
    ):
        load.wait_for(100)
        begin = time.perf_counter()
        status = server.end()
        seconds = time.perf_counter() - begin
        load.join()
    return load, f"status {status} after {seconds:.2f} s"


def server_alive(server) -> str:
    """Sends a valid request; fails if it is not answered."""
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        channel.unary_unary(PREDICT)(text_request(["a"]).SerializeToString())
    return "a valid request is answered afterwards"


def described(text) -> str:
    """Date, machine, versions and the sentences of the requests."""
    lengths = [len(sentence) for sentence in text.sentences]
    return (
        f"{datetime.date.today()}, {os.cpu_count()} × {platform.machine()}, TensorFlow "
        f"{tf.__version__}, gRPC {grpc.__version__}; {len(lengths)} sentences of "
        f"{min(lengths)} to {max(lengths)} tokens, {np.mean(lengths):.1f} on average\n"
    )


def row(cells) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("export", metavar="EXPORT", type=Path)
    add("--model", required=True, metavar="MODEL_DIR", type=Path)
    add("--text", required=True, metavar="FILE")
    add(
        "--sentences",
        type=positive(int),
        default=500,
        help="number, from the start of FILE",
    )
    add("--clients", type=positive(int), default=16)
    add("--seconds", type=positive(float), default=120.0)
    add("--rest", action="store_true", help="over REST instead of gRPC")
    add("--checkout", type=Path, metavar="DIR", help="measures the server of another")
    add("--faults", action="store_true")
    add("--malformed", type=positive(int), default=10_000, help="messages")
    return p


if __name__ == "__main__":
    sys.exit(main())
