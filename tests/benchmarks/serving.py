"""The embedded server under load, beside a plain function over the same SavedModel.

    python -m tests.benchmarks.serving EXPORT --text FILE
    python -m tests.benchmarks.serving EXPORT --text FILE --systems embedded REST --rounds 1 --seconds 120

EXPORT holds a version that `python -m export` wrote. FILE holds one sentence a line,
tokens separated by spaces; a request is one sentence. In turns:

- function: a `tf.function` over `tf.saved_model.load`, called by threads of its own
  process, from `str` to a NumPy array, without any network;
- gRPC: the simplest gRPC server around that function;
- embedded: `elmo-keras serve`, with the options in --server, asked for `elmo`;
- REST: the same server over REST, whose answers hold all outputs.

Each is a process of its own. Clients are threads of this process, have a connection each
and share the processors with the servers. Every answer of a server is compared with the
function's vectors. One client, then --clients, in --rounds turns of --seconds each.
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
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np

from export.version_paths import versions
from tests.benchmarks import runner
from tests.support.processes import peak_megabytes
from tests.support.serving_load import Load, grpc_client, rest_client

TOLERANCE = 1e-5  # batches of different shapes are summed in a different order
SYSTEMS = "function", "gRPC", "embedded", "REST"
Export = Annotated[Path, {"metavar": "EXPORT", "type": Path}]


class Server:
    """`python -m export.serve` of a checkout, with `port` and `rest_port`."""

    def __init__(self, folder: Path, *options: str, checkout: Path = runner.ROOT):
        command = [sys.executable, "-m", "export.serve", folder.absolute()]
        self._process = subprocess.Popen(
            [*command, *options, "--port=0", "--rest-port=0"],
            cwd=checkout,
            env=runner.environment(checkout),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        line = self._process.stdout.readline()
        if not line:
            raise ValueError(f"{folder} can't be served.")
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
    """A server as a system: clients send it requests and check all answers.

    Attributes:
        answers, failed: the number of right answers, and of others.
        largest: the largest difference from the expected vectors.
    """

    def __init__(self, port: int, expected: dict[str, np.ndarray], client=grpc_client):
        self._port, self._expected, self._client = port, expected, client
        self.answers, self.failed, self.largest = 0, 0, 0.0

    def ask(self, name: str, threads: int, seconds: float) -> list[float]:
        """The seconds of each request of this many clients."""
        texts = list(self._expected)

        def sentences(client):
            drawn = random.Random(client)
            return (drawn.choice(texts).split(" ") for _ in itertools.count())

        with Load(
            self._port,
            sentences,
            lambda sentence, _: self._expected[" ".join(sentence)],
            clients=threads,
            tolerance=TOLERANCE,
            client=self._client,
        ) as load:
            time.sleep(seconds)
            times = list(load.seconds)
        self.answers += load.answers.total()
        self.failed += len(load.wrong) + load.refusals.total()
        self.largest = max(self.largest, load.largest)
        return times


def expected_of(port: int, sentences: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """The vectors with which a server answers each sentence."""
    with grpc_client(port) as predict:
        return {" ".join(sentence): predict(sentence)[1] for sentence in sentences}


def called(systems: dict, *, threads: int, seconds: float, rounds: int) -> dict:
    """Lets clients call systems in turns: the seconds of all calls, by round."""
    for system in systems.values():
        system.ask("calls", threads=threads, seconds=min(seconds, 2.0))
    return runner.in_turns(
        systems,
        lambda system, _: system.ask("calls", threads=threads, seconds=seconds),
        rounds=rounds,
    )


def measures(found: dict, seconds: float) -> tuple[dict, dict]:
    """Requests a second and median milliseconds of each system, by round."""
    return tuple(
        {name: [measure(r) for r in own] for name, own in found.items()}
        for measure in (
            lambda times: len(times) / seconds,
            lambda times: 1000 * statistics.median(times),
        )
    )


@runner.command
def main(
    export: Export,
    /,
    *,
    text: runner.File,
    sentences: runner.Number = 200,
    rounds: runner.Number = 5,
    seconds: runner.Seconds = 3.0,
    clients: runner.Number = 16,
    systems: runner.some_of(SYSTEMS) = SYSTEMS[:3],
    server: Annotated[Sequence[str], {"nargs": "*", "metavar": "NAME=VALUE"}] = (),
) -> int:
    """Prints the table; returns status 1 if an answer was wrong or missing."""
    given = runner.read(text, sentences)
    version = (export / str(versions(export)[-1])).absolute()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        ours = Server(export, *(f"--{option}" for option in server))
        stack.enter_context(ours)
        file = runner.write(Path(folder) / "sentences.txt", given)
        plain = runner.worker("plain_server", version, file)
        function = stack.enter_context(plain)
        expected = expected_of(function.hello, given)
        found = {
            "function": function,
            "gRPC": Clients(function.hello, expected),
            "embedded": Clients(ours.port, expected),
            "REST": Clients(ours.rest_port, expected, rest_client),
        }
        found = {name: found[name] for name in systems}
        rate, more = "requests/s: median (lowest – highest)", "more than the first"
        checks = "answers", "failed", "largest difference", "our memory"
        runner.head("clients", "system", rate, "ratio", "p50", more, "p99", *checks)
        for n in (1, clients):
            times = called(found, threads=n, seconds=seconds, rounds=rounds)
            for name, cells in rows(times, seconds).items():
                own, checks = found[name], ["–"] * 3
                if isinstance(own, Clients):
                    checks = own.answers, own.failed, f"{own.largest:.1e}"
                runner.row(n, name, *cells, *checks, f"{ours.megabytes:,} MB")
        return int(any(getattr(own, "failed", 0) for own in found.values()))


def rows(found: dict, seconds: float) -> dict[str, list[str]]:
    """The cells of each system's row, which is compared with the first one."""
    (rates, p50), first, cells = measures(found, seconds), next(iter(found)), {}
    for name, times in found.items():
        more = [a - b for a, b in zip(p50[name], p50[first], strict=True)]
        cells[name] = [
            runner.spread(rates[name], 1),
            runner.ratio(rates[name], rates[first]),
            f"{statistics.median(p50[name]):.1f} ms",
            f"{statistics.median(more):.1f} ms",
            f"{1000 * np.percentile(sum(times, []), 99):.1f} ms",
        ]
    return cells


if __name__ == "__main__":
    sys.exit(main())
