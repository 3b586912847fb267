"""The embedded server under load, beside a plain function over the same SavedModel.

    python -m tests.benchmarks.serving EXPORT --text FILE
    python -m tests.benchmarks.serving EXPORT --text FILE --systems embedded REST --rounds 1 --seconds 120

EXPORT holds a version that `elmo-keras export` wrote. FILE holds one sentence a line,
tokens separated by spaces; a request is one sentence. In turns:

- function: a `tf.function` over `tf.saved_model.load`, called by threads of its own
  process, from `str` to a NumPy array, without any network;
- gRPC: the simplest gRPC server around that function;
- embedded: `elmo-keras serve`, with the options in --server, asked for `elmo`;
- REST: the same server over REST, whose answers hold all outputs;
- int8: the same server with the `.tflite` file of --litert.

Clients, one and then --clients, are threads of this process with a connection each.
Every answer of a server is compared with the function's vectors, or with the first
ones of the `.tflite` file.
"""

import contextlib
import itertools
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elmo_keras.export.version_paths import versions
from tests.benchmarks import runner
from tests.support.processes import megabytes
from tests.support.serving_load import Load, grpc_client, rest_client

TOLERANCE = 1e-5  # batches of different shapes are summed in a different order
SYSTEMS = "function", "gRPC", "embedded", "REST", "int8"


class Server:
    """`python -m export.serve`, its `process`, `port` and `rest_port`."""

    def __init__(self, folder: Path, *options: str, root: Path = runner.ROOT):
        command = [sys.executable, "-m", "export.serve", folder.absolute()]
        command += [*options, "--port=0", "--rest-port=0"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = runner.process_of(command, root=root, cwd=root, **streams)
        line = self.process.stdout.readline()
        if not line:
            raise ValueError(f"{folder} can't be served.")
        ports = [part.split(",")[0] for part in line.split("on port ")[1:]]
        self.port, self.rest_port = map(int, ports)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Clients:
    """A server as a system: clients send it requests and check all answers."""

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
    middle = statistics.median
    rates = {name: [len(r) / seconds for r in own] for name, own in found.items()}
    p50 = {name: [1000 * middle(r) for r in own] for name, own in found.items()}
    return rates, p50


def main(
    export: Path,
    /,
    *,
    text: Path,
    sentences: runner.Count = 200,
    rounds: runner.Count = 5,
    seconds: runner.Positive = 3.0,
    clients: runner.Count = 16,
    systems: Sequence[str] = SYSTEMS[:3],
    litert: Path | None = None,
    server: Sequence[str] = (),
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
        if litert:
            port = stack.enter_context(Server(litert)).port
            found["int8"] = Clients(port, expected_of(port, given))
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
                runner.row(
                    n, name, *cells, *checks, f"{megabytes(ours.process.pid):,} MB"
                )
        return int(any(getattr(own, "failed", 0) for own in found.values()))


def rows(found: dict, seconds: float) -> dict[str, list[str]]:
    """The cells of each system's row, which is compared with the first one."""
    (rates, p50), cells = measures(found, seconds), {}
    first = p50[next(iter(found))]
    for name, compared in runner.compared(rates, 1).items():
        more = [a - b for a, b in zip(p50[name], first, strict=True)]
        late = 1000 * np.percentile(sum(found[name], []), 99)
        middle = [statistics.median(values) for values in (p50[name], more)]
        cells[name] = [*compared, *(f"{ms:.1f} ms" for ms in (*middle, late))]
    return cells


if __name__ == "__main__":
    runner.run(main)
