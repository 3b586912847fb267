"""Embedding, training, tasks and serving in two checkouts of this repository.

    git worktree add OTHER COMMIT
    python -m tests.benchmarks.checkouts --checkout OTHER --text FILE
    python -m tests.benchmarks.checkouts --checkout OTHER --work epochs --data ../shared/data

FILE holds one sentence a line, tokens separated by spaces. Both checkouts run in this
Python, through public names and commands only, over the same random weights, sentences
and options. They take turns, --rounds at least, after one that is not counted:

- embedding: `Elmo.all_layers` in a graph, `embed_corpus` for the whole text, and `Embedder`,
  for --seconds at least; the difference is between the vectors of 32 sentences;
- training: --steps steps of `train.py` a turn; the difference is between losses;
- serving: each one's `export` and `export.serve`, for --seconds divided by --rounds;
- epochs: a task's command, with a frozen language model and cached layers, without
  scoring.

The ratio is this checkout's value to the other's, the median over the rounds.
"""

import contextlib
import dataclasses
import functools
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.util.command import CommandFailed
from tests.benchmarks import runner, training
from tests.benchmarks.embedding import batches_of, saved
from tests.benchmarks.serving import Clients, Server, called, expected_of, measures

WORK = "embedding", "training", "serving", "epochs"
WAYS = {"float32": "embedding", "embedder": "Embedder"}
REQUESTS = 200  # sentences to be served


WIKIGOLD = "en_ner_misc/wikigold/CONLL-format/data/wikigold.conll.txt"
CASES = {  # name → task, its training file below `--data`, and how much of it is read
    "wikigold": ("tag", WIKIGOLD, 2000),
    "en_ewt": ("tag", "en_ewt/en_ewt-ud-train.conllu", 2000),
    "en_snli": ("entail", "en_snli/dev.txt", 2000),
    "en_qa": ("answer", "en_qa/train.json", 250),
}


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

    def workers(self, script: str, arguments: Callable[[str], Sequence[str | Path]]):
        """A worker of each checkout; its name → the arguments of the script."""
        return runner.started(
            {
                name: runner.worker(script, *arguments(name), checkout=checkout)
                for name, checkout in self.checkouts.items()
            }
        )

    def embedding(self, way: str, batch_sizes: Sequence[int]) -> None:
        turns = {"rounds": self.rounds, "seconds": self.seconds, "warm_up": 1}
        with (
            runner.inputs(self.preset, self.sentences) as folder,
            self.workers("ours", lambda _: (folder, way)) as workers,
        ):
            vectors = [saved(w, self.sentences, folder) for w in workers.values()]
            difference = float(np.abs(vectors[0] - vectors[1]).max())
            for size in batch_sizes:
                batches = functools.partial(batches_of, size, self.sentences)
                found = runner.in_turns(
                    workers, lambda w, i, b=batches: w.ask("run", batches=b(i)), **turns
                )
                rates = runner.speeds(found)
                self.row(f"{WAYS[way]}, batch {size}, tokens/s", rates, difference)
            found = runner.in_turns(workers, lambda w, _: w.ask("file"), **turns)
            rates = runner.speeds(found)
            self.row(f"{WAYS[way]}, whole file, tokens/s", rates, difference)

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

    def epochs(self, case: str, data: Path) -> None:
        """Trains the model of a task's command."""
        task, file, limit = CASES[case]
        if not (data / file).exists():
            raise FileNotFoundError(f"--data should hold {file}.")
        epochs = self.rounds + 1
        arguments = [task, "--train", data / file, "--dev", data / file]
        arguments += ["--limit", limit, "--seeds", 1]
        arguments += ["--epochs", epochs, "--patience", epochs, "--elmo"]
        with (
            runner.inputs(self.preset) as folder,
            self.workers(
                "epochs", lambda name: [*arguments, folder, "--output", folder / name]
            ) as workers,
        ):
            found = runner.in_turns(
                workers, lambda w, _: w.ask("epoch"), rounds=self.rounds, warm_up=1
            )
        losses = [own[-1]["loss"] for own in found.values()]
        difference = abs(losses[0] - losses[1])
        for measure in ("seconds", "processor"):
            times = {name: [a[measure] for a in own] for name, own in found.items()}
            self.row(f"{case}, {measure} an epoch", times, difference, 2)


@runner.command
def main(
    *,
    checkout: runner.Folder,
    presets: runner.Presets = ("small",),
    work: runner.some_of(WORK) = WORK[:3],
    text: runner.File = None,
    data: runner.Folder = None,
    cases: runner.some_of(CASES) = tuple(CASES),
    sentences: runner.Number = 1024,
    batch_sizes: runner.Numbers = (1, 32),
    rounds: runner.Number = 6,
    seconds: runner.Seconds = 15,
    words: runner.Number = 50_000,
    clients: runner.Numbers = (1, 16),
    batch_size: runner.Number = 128,
    negatives: runner.Number = 8192,
    warmup: runner.Number = 10,
    steps: runner.Number = 10,
) -> None:
    for name in work:
        option = "data" if name == "epochs" else "text"
        if {"data": data, "text": text}[option] is None:
            raise ValueError(f"{name} needs --{option}.")
    given = runner.read(text, sentences) if text else []
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
        if "epochs" in work:
            for case in cases:
                compare.epochs(case, data)


if __name__ == "__main__":
    sys.exit(main())
