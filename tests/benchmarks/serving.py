"""The server under load, beside a plain function over the same SavedModel.

    python -m tests.benchmarks.serving EXPORT --text FILE
    python -m tests.benchmarks.serving EXPORT --text FILE --systems embedded REST --rounds 1 --seconds 120

EXPORT holds a version that `elmo-keras export` wrote. FILE holds one sentence a line,
tokens separated by spaces; a request is one sentence. In turns:

- function: a `tf.function` over `tf.saved_model.load`, called by threads of its own
  process, from `str` to a NumPy array, without any network;
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
import re
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
SYSTEMS = "function", "embedded", "REST", "int8"


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
        self.port, self.rest_port = map(int, re.findall(r"on port (\d+)", line))

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


def main(
    export: Path,
    /,
    *,
    text: Path,
    sentences: runner.Count = 200,
    rounds: runner.Count = 5,
    seconds: runner.Positive = 3.0,
    clients: runner.Count = 16,
    systems: Sequence[str] = SYSTEMS[:2],
    litert: Path | None = None,
    server: Sequence[str] = (),
) -> int:
    """Prints the table; returns status 1 if an answer was wrong or missing."""
    tokens = runner.read(text, sentences)
    version = (export / str(versions(export)[-1])).absolute()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        ours = Server(export, *(f"--{option}" for option in server))
        stack.enter_context(ours)
        file = runner.write(folder / "sentences.txt", tokens)
        function = runner.worker("plain_function", version, file)
        function = stack.enter_context(function)
        function.ask("save", path=str(folder / "vectors.npz"))
        vectors = np.load(folder / "vectors.npz").values()
        expected = dict(zip(map(" ".join, tokens), vectors))
        callers = {
            "function": function,
            "embedded": Clients(ours.port, expected),
            "REST": Clients(ours.rest_port, expected, rest_client),
        }
        if litert:
            port = stack.enter_context(Server(litert)).port
            callers["int8"] = Clients(port, expected_of(port, tokens))
        callers = {name: callers[name] for name in systems}
        rate = "requests/s: median (lowest – highest)"
        checks = "answers", "failed", "largest difference", "our memory"
        runner.head("clients", "system", rate, "ratio", "p50", "p99", *checks)
        for n in (1, clients):
            times = runner.in_turns(
                callers,
                lambda system, _, n=n: system.ask("calls", threads=n, seconds=seconds),
                rounds=rounds,
                warm_up=1,
            )
            rates = {
                name: [len(r) / seconds for r in own] for name, own in times.items()
            }
            for name, cells in runner.compared(rates, 1).items():
                own, counts = callers[name], ["–"] * 3
                if isinstance(own, Clients):
                    counts = own.answers, own.failed, f"{own.largest:.1e}"
                p50 = statistics.median(map(statistics.median, times[name]))
                late = np.percentile(sum(times[name], []), 99)
                cells = *cells, *(f"{1000 * s:.1f} ms" for s in (p50, late)), *counts
                runner.row(n, name, *cells, f"{megabytes(ours.process.pid):,} MB")
        return int(any(getattr(own, "failed", 0) for own in callers.values()))


if __name__ == "__main__":
    runner.run(main)
