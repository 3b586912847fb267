"""Compares the embedded server with a plain function over the same SavedModel.

    python -m tests.benchmarks.serving_plain EXPORT --text FILE

EXPORT holds a version that `python -m export` wrote. FILE holds one sentence a line,
tokens separated by spaces; a request is one sentence and asks for `elmo`. In turns:

- function: a `tf.function` over `tf.saved_model.load`, called by threads of its own
  process, from `str` to a NumPy array, without any network;
- gRPC: the simplest gRPC server around that function;
- embedded: `elmo-keras serve`, with the options in --server, and the same clients.

Each is a process of its own. Clients of gRPC are threads of this process, have a
connection each and share the processors with the servers. One client, then --clients,
in --rounds turns of --seconds each; before that the vectors are compared.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import command_parser, run_command
from export.version_paths import versions
from tests.benchmarks.serving import TOLERANCE, Server
from tests.benchmarks.serving_plain_worker import timed
from tests.benchmarks.turns import sample
from tests.benchmarks.workers import heading, machine, read, row, spread, started
from tests.support.serving_load import grpc_client

PROGRAM = "tests.benchmarks.serving_plain"
COLUMNS = (
    "clients",
    "system",
    "requests/s: median (lowest – highest)",
    "to the function",
    "to gRPC",
    "p50",
    "more than the function",
)
FUNCTION, GRPC, EMBEDDED = "function", "gRPC", "embedded"

# Number of clients, seconds → the seconds of each request.
System = Callable[[int, float], list[float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: report(options))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("export", metavar="EXPORT", type=Path)
    add("--text", required=True, metavar="FILE", type=Path)
    add("--sentences", type=positive(int), default=200, help="of the sample")
    add("--clients", type=positive(int), default=16)
    add("--rounds", type=positive(int), default=5)
    add("--seconds", type=positive(float), default=3.0, help="of a turn")
    add("--server", nargs="*", default=[], metavar="NAME=VALUE", help="its options")
    add("--checkout", type=Path, metavar="DIR", help="measures the server of another")
    return p


def report(options: argparse.Namespace) -> None:
    """Prints the table."""
    sentences = [" ".join(s) for s in sample(read(options.text), options.sentences)]
    arguments = [f"--{option}" for option in options.server]
    with (
        plain(options.export, sentences) as (function, port),
        Server(options.export, *arguments, checkout=options.checkout) as server,
    ):
        print(f"largest difference {difference(port, server.port, sentences):.1e}\n")
        systems = {
            FUNCTION: function,
            GRPC: clients_of(port, sentences),
            EMBEDDED: clients_of(server.port, sentences),
        }
        print(heading(COLUMNS), flush=True)
        for clients in (1, options.clients):
            found = in_turns(systems, clients, options.rounds, seconds=options.seconds)
            for cells in rows(found, options.seconds):
                print(row([f"{clients}", *cells]), flush=True)
    print(f"\n{machine(len(os.sched_getaffinity(0)))}")


@contextlib.contextmanager
def plain(export: Path, sentences: Sequence[str]) -> Iterator[tuple[System, int]]:
    """The function in a process of its own, and the port of its server."""
    version = export / str(versions(export)[-1])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sentences.txt"
        file.write_text("\n".join(sentences), encoding="utf-8")
        name = "tests.benchmarks.serving_plain_worker"
        command = [sys.executable, "-m", name, version.absolute(), file]
        with started(FUNCTION, command, Path(folder)) as worker:

            def function(threads, seconds):
                request = {"threads": threads, "seconds": seconds}
                return worker.ask(json.dumps(request))

            yield function, worker.hello


def clients_of(port: int, sentences: Sequence[str]) -> System:
    """Clients of the gRPC server on a port."""

    def system(clients, seconds):
        with contextlib.ExitStack() as stack:
            predicts = [stack.enter_context(grpc_client(port)) for _ in range(clients)]
            calls = [lambda text, p=p: p(text.split(" ")) for p in predicts]
            return timed(calls, sentences, seconds)

    return system


def difference(plain_port: int, port: int, sentences: Sequence[str]) -> float:
    """The largest difference between the vectors of both servers.

    Raises:
        ValueError: it is too large.
    """
    largest = 0.0
    with grpc_client(plain_port) as expected, grpc_client(port) as found:
        for text in sentences:
            tokens = text.split(" ")
            between = np.abs(expected(tokens)[1] - found(tokens)[1])
            largest = max(largest, between.max(initial=0))
    if largest > TOLERANCE:
        raise ValueError(f"The vectors differ by {largest:.1e}.")
    return largest


def in_turns(
    systems: dict[str, System], clients: int, rounds: int, *, seconds: float
) -> dict[str, list[list[float]]]:
    """For each system the seconds of its requests in each round."""
    for system in systems.values():
        system(clients, seconds / 4)
    found = {name: [] for name in systems}
    for _ in range(rounds):
        for name, system in systems.items():
            found[name].append(system(clients, seconds))
    return found


def rows(found: dict[str, list[list[float]]], seconds: float) -> list[list[str]]:
    """The cells of each system's row; ratios are medians over the rounds."""
    rates = {name: [len(r) / seconds for r in all_] for name, all_ in found.items()}
    p50 = {name: [1000 * statistics.median(r) for r in f] for name, f in found.items()}

    def ratio(name, other):
        pairs = zip(rates[name], rates[other], strict=True)
        return f"{statistics.median(a / b for a, b in pairs):.2f}"

    def more(name):
        pairs = zip(p50[name], p50[FUNCTION], strict=True)
        return f"{statistics.median(a - b for a, b in pairs):.1f} ms"

    return [
        [
            name,
            spread(rates[name], 1),
            ratio(name, FUNCTION),
            ratio(name, GRPC),
            f"{statistics.median(p50[name]):.1f} ms",
            more(name),
        ]
        for name in found
    ]


if __name__ == "__main__":
    sys.exit(main())
