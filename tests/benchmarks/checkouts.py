"""Embedding, training and serving in two checkouts of this repository.

    git worktree add OTHER COMMIT
    python -m tests.benchmarks.checkouts --checkout OTHER --text FILE

FILE holds one sentence a line, tokens separated by spaces. Both checkouts run in this
Python, through public names and commands only, over the same random weights, sentences
and options. They take turns, --rounds at least, after one that is not counted:

- embedding: all layers in a graph, `embed_corpus` for the whole text, and `Embedder`,
  also of int8, for --seconds at least; the difference is between the vectors of 32
  sentences;
- training: --steps steps of `train.py` a turn; the difference is between losses;
- serving: each one's `export` and `export.serve`, for --seconds divided by --rounds;
- start: the help of a command, and a process until an `Embedder`'s first vectors.

The ratio is this checkout's value to the other's, the median over the rounds.
"""

import contextlib
import dataclasses
import functools
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from elmo_keras.util.command import CommandFailed
from tests.benchmarks import first_vector, runner, training
from tests.benchmarks.embedding import batches_of, saved
from tests.benchmarks.serving import Clients, Server, called, expected_of, measures

Work = Literal["embedding", "training", "serving", "start"]
WAYS = {  # way → script of `workers/`, and what its rows are named
    "float32": ("ours", "embedding"),
    "embedder": ("ours", "Embedder"),
    "int8": ("in_litert", "int8"),
}
REQUESTS = 200  # sentences to be served


@dataclasses.dataclass
class Comparison:
    """Lets both checkouts do some work, and prints its rows."""

    checkouts: dict[str, Path]
    preset: str
    sentences: list[list[str]]
    rounds: int
    seconds: float

    def row(self, work: str, values: dict, difference=None, digits: int = 0) -> None:
        cells = [runner.spread(own, digits) for own in values.values()]
        shown = "–" if difference is None else f"{difference:.1e}"
        runner.row(self.preset, work, *cells, runner.ratio(*values.values()), shown)

    def embedding(self, way: str, batch_sizes: Sequence[int]) -> None:
        script, title = WAYS[way]
        turns = {"rounds": self.rounds, "seconds": self.seconds, "warm_up": 1}
        with (
            runner.inputs(self.preset, self.sentences) as folder,
            runner.started(
                {
                    name: runner.worker(script, folder, way, checkout=checkout)
                    for name, checkout in self.checkouts.items()
                }
            ) as workers,
        ):
            vectors = [saved(w, self.sentences, folder) for w in workers.values()]
            difference = float(np.abs(vectors[0] - vectors[1]).max())
            for size in batch_sizes:
                batches = functools.partial(batches_of, size, self.sentences)
                found = runner.in_turns(
                    workers, lambda w, i, b=batches: w.ask("run", batches=b(i)), **turns
                )
                rates = runner.speeds(found)
                self.row(f"{title}, batch {size}, tokens/s", rates, difference)
            found = runner.in_turns(workers, lambda w, _: w.ask("file"), **turns)
            rates = runner.speeds(found)
            self.row(f"{title}, whole file, tokens/s", rates, difference)

    def training(self, inputs: dict, *, warmup: int, steps: int) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            arguments = training.written(folder, **inputs)
            arguments += ["--preset", self.preset]
            found = runner.in_turns(
                {
                    name: training.TrainPy(folder / name, checkout, *arguments)
                    for name, checkout in self.checkouts.items()
                },
                lambda run, i: run.ask("step", number=steps if i else warmup),
                rounds=self.rounds,
                warm_up=1,
            )
        rates = runner.speeds(found)
        pairs = zip(*found.values(), strict=True)
        difference = max(abs(a["loss"] - b["loss"]) for a, b in pairs)
        self.row("training step, tokens/s", rates, difference)

    def serving(self, clients: Sequence[int]) -> None:
        given, seconds = self.sentences[:REQUESTS], self.seconds / self.rounds
        with contextlib.ExitStack() as stack:
            folder, ports = stack.enter_context(runner.inputs(self.preset)), {}
            for name, checkout in self.checkouts.items():
                command = [sys.executable, "-m", "export", folder, folder / name]
                with runner.finished(command, checkout):
                    pass
                server = stack.enter_context(Server(folder / name, checkout=checkout))
                ports[name] = server.port
            expected = expected_of(ports["this"], given)
            loads = {name: Clients(port, expected) for name, port in ports.items()}
            for n in clients:
                turns = {"seconds": seconds, "rounds": self.rounds}
                found = called(loads, threads=n, **turns)
                rates, p50 = measures(found, seconds)
                difference = max(load.largest for load in loads.values())
                self.row(f"serving {n}, requests/s", rates, difference, 1)
                self.row(f"serving {n}, p50 in ms", p50, digits=1)
        if failed := sum(load.failed for load in loads.values()):
            raise CommandFailed(f"{failed} answers were wrong or missing.")

    def start(self) -> None:
        def seconds_of_help(checkout, _):
            begin, command = time.perf_counter(), [sys.executable, "-m", "export"]
            with runner.finished([*command, "--help"], checkout):
                pass
            return time.perf_counter() - begin

        turns = {"rounds": self.rounds, "warm_up": 1}
        times = runner.in_turns(self.checkouts, seconds_of_help, **turns)
        self.row("--help, seconds", times, digits=2)
        with runner.inputs(self.preset) as folder:
            found = runner.in_turns(
                self.checkouts,
                lambda checkout, _: first_vector.start(
                    folder,
                    self.sentences[:1],
                    "ours",
                    "embedder",
                    {"checkout": checkout},
                ),
                **turns,
            )
        times = {
            name: [ends["first"][0] for ends in own] for name, own in found.items()
        }
        self.row("first vector, seconds", times, digits=2)


def main(
    *,
    checkout: Path,
    presets: Sequence[runner.Preset] = ("small",),
    text: Path,
    work: Sequence[Work] = ("embedding", "training", "serving", "start"),
    sentences: runner.Count = 1024,
    batch_sizes: Sequence[runner.Count] = (1, 32),
    rounds: runner.Count = 6,
    seconds: runner.Positive = 15,
    words: runner.Count = 50_000,
    clients: Sequence[runner.Count] = (1, 16),
    batch_size: runner.Count = 128,
    negatives: runner.Count = 8192,
    warmup: runner.Count = 10,
    steps: runner.Count = 10,
) -> None:
    given = runner.read(text, sentences)
    what = "this checkout: median (lowest – highest)", "the other", "ratio"
    runner.head("preset", "work", *what, "largest difference")
    checkouts = {"this": runner.ROOT, "other": checkout}
    for preset in presets:
        compare = Comparison(checkouts, preset, given, rounds=rounds, seconds=seconds)
        if "embedding" in work:
            for way in WAYS:
                compare.embedding(way, batch_sizes)
        if "training" in work:
            sizes = {"batch_size": batch_size, "negatives": negatives}
            arguments = {"text": text, "words": words, **sizes}
            compare.training(arguments, warmup=warmup, steps=steps)
        if "serving" in work:
            compare.serving(clients)
        if "start" in work:
            compare.start()


if __name__ == "__main__":
    runner.run(main)
