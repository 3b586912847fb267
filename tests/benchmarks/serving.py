"""The embedded server under load, beside a plain function over the same SavedModel.

    python -m tests.benchmarks.serving EXPORT --text FILE
    python -m tests.benchmarks.serving EXPORT --text FILE --systems embedded REST --rounds 1 --seconds 120

EXPORT holds a version that `python -m export` wrote. FILE holds one sentence a line,
tokens separated by spaces; a request is one sentence. In turns:

- function: a `tf.function` over `tf.saved_model.load`, called by threads of its own
  process, from `str` to a NumPy array, without any network;
- gRPC: the simplest gRPC server around that function;
- embedded: `elmo-keras serve`, with the options in --server, asked for `elmo`;
- REST: the same server over REST, whose answers hold all outputs;
- other: like embedded, the server of --checkout, which serves EXPORT too.

Each is a process of its own. Clients are threads of this process, have a connection each
and share the processors with the servers. Every answer of a server is compared with the
function's vectors. One client, then --clients, in --rounds turns of --seconds each.
Ratios are medians over the rounds.
"""

import contextlib
import itertools
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.cli.argument_types import positive
from export.version_paths import versions
from tests.benchmarks import runner
from tests.benchmarks.runner import ROOT, head, in_turns, row, spread
from tests.support.processes import peak_megabytes
from tests.support.serving_load import Load, grpc_client, rest_client

TOLERANCE = 1e-5  # batches of different shapes are summed in a different order
SYSTEMS = "function", "gRPC", "embedded", "REST", "other"


class Server:
    """`python -m export.serve` in a process of its own.

    Args:
        directory: the folder of the versions.
        *arguments: further arguments of the command.
        checkout: the folder to run it in.

    Attributes:
        port, rest_port: its ports.
    """

    def __init__(self, directory: Path, *arguments: str, checkout: Path = ROOT):
        command = [sys.executable, "-m", "export.serve", directory.absolute()]
        self._process = subprocess.Popen(
            [*command, *arguments, "--port=0", "--rest-port=0"],
            cwd=checkout,
            env=runner.environment(checkout),
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
        return peak_megabytes(self._process.pid)

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

    def end(self, *signals: int, pause: float = 0.5) -> tuple[int, float]:
        """Sends signals; returns the exit status, and how long it took to end."""
        begin = time.perf_counter()
        for i, number in enumerate(signals or [signal.SIGTERM]):
            time.sleep(pause if i else 0)
            self._process.send_signal(number)
        return self._process.wait(300), time.perf_counter() - begin


class Clients:
    """Clients of a server, who check the vectors `elmo` of all answers.

    Attributes:
        answers, failed: the number of right answers, and of others.
        largest: the largest difference from the expected vectors.
    """

    def __init__(self, port: int, expected: dict[str, np.ndarray], client=grpc_client):
        self._port, self._expected, self._client = port, expected, client
        self.answers = self.failed = 0
        self.largest = 0.0

    def __call__(self, clients: int, seconds: float) -> list[float]:
        """The seconds of each request of this many clients."""
        texts = list(self._expected)

        def sentences(client: int) -> Iterator[list[str]]:
            drawn = random.Random(client)
            return (drawn.choice(texts).split(" ") for _ in itertools.count())

        def vectors(sentence: list[str], _: int) -> np.ndarray:
            return self._expected[" ".join(sentence)]

        tolerance = {"clients": clients, "tolerance": TOLERANCE}
        load = Load(self._port, sentences, vectors, **tolerance, client=self._client)
        with load:
            time.sleep(seconds)
            times = list(load.seconds)
        self.answers += load.answers.total()
        self.failed += len(load.wrong) + load.refusals.total()
        self.largest = max(self.largest, load.largest)
        return times


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    p = runner.parser(__doc__, text=None, checkout=None, sentences=200, rounds=5)
    add = p.add_argument
    add("export", metavar="EXPORT", type=Path)
    add("--seconds", type=positive(float), default=3.0, help="of a turn")
    add("--clients", type=positive(int), default=16)
    add("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS[:3])
    add("--server", nargs="*", default=[], metavar="NAME=VALUE", help="its options")
    return runner.run(p, report, arguments)


def report(
    export, text, checkout, sentences, rounds, seconds, clients, systems, server
):
    """Prints the table; returns status 1 if an answer was wrong or missing."""
    texts = [" ".join(sentence) for sentence in runner.read(text, sentences)]
    options = [f"--{option}" for option in server]
    systems = list(dict.fromkeys([*systems, *(["other"] if checkout else [])]))
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(Server(export, *options))
        function, port, expected = stack.enter_context(plain(export, texts))
        found = {
            "function": function,
            "gRPC": Clients(port, expected),
            "embedded": Clients(ours.port, expected),
            "REST": Clients(ours.rest_port, expected, rest_client),
        }
        if checkout:
            theirs = Server(export, *options, checkout=checkout)
            found["other"] = Clients(stack.enter_context(theirs).port, expected)
        rate, more = "requests/s: median (lowest – highest)", "more than the first"
        checks = "answers", "failed", "largest difference", "our memory"
        head("clients", "system", rate, "to the first", "p50", more, "p99", *checks)
        for number in (1, clients):
            asks = {n: lambda _, f=found[n], c=number: f(c, seconds) for n in systems}
            for name in systems:
                found[name](number, min(seconds, 2.0))
            for name, cells in rows(in_turns(asks, rounds=rounds), seconds).items():
                own = found[name]
                checks = ["–"] * 3
                if isinstance(own, Clients):
                    checks = own.answers, own.failed, f"{own.largest:.1e}"
                row(number, name, *cells, *checks, f"{ours.megabytes:,} MB")
        return int(any(own.failed for own in found.values() if own is not function))


@contextlib.contextmanager
def plain(export: Path, texts: Sequence[str]) -> Iterator[tuple]:
    """The function in a process of its own, the port of its server, its vectors."""
    version = export / str(versions(export)[-1])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sentences.txt"
        file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        with runner.worker("plain_server", version.absolute(), file) as worker:
            with grpc_client(worker.hello) as predict:
                expected = {text: predict(text.split(" "))[1] for text in texts}

            def function(threads, seconds):
                return worker.ask("calls", threads=threads, seconds=seconds)

            yield function, worker.hello, expected


def rows(found: dict[str, list[list[float]]], seconds: float) -> dict[str, list[str]]:
    """The cells of each system's row, which is compared with the first one."""
    first = next(iter(found))
    rates = {name: [len(r) / seconds for r in all_] for name, all_ in found.items()}
    p50 = {name: [1000 * statistics.median(r) for r in f] for name, f in found.items()}
    cells = {}
    for name, rounds in found.items():
        ratios = [a / b for a, b in zip(rates[name], rates[first], strict=True)]
        more = [a - b for a, b in zip(p50[name], p50[first], strict=True)]
        cells[name] = [
            spread(rates[name], 1),
            f"{statistics.median(ratios):.2f}",
            f"{statistics.median(p50[name]):.1f} ms",
            f"{statistics.median(more):.1f} ms",
            f"{1000 * np.percentile(sum(rounds, []), 99):.1f} ms",
        ]
    return cells


if __name__ == "__main__":
    sys.exit(main())
